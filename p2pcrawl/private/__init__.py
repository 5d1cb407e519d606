"""Files that no other user of the machine may read or change: those with secrets in them, and data folders."""
