"""Projects on their way: the files that a spider needs, gathered, packed, checked on arrival, and unpacked."""
