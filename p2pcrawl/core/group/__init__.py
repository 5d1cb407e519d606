"""The slaves of a master as a group: shares, speeds, and the place of a host among them."""
