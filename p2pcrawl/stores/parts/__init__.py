"""Part files: items in many files of a folder, bucket or server, of which a manifest says which are whole and count."""
