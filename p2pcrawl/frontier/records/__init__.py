"""The records that a master owns, and the one transaction that changes them."""
