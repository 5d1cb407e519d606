"""What no other user of the machine may read or change: files with secrets in them, and data folders."""
