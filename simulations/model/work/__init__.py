"""The promises around a page and its job: that what a slave has said is not forgotten, and that an end is one."""
