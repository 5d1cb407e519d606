"""People's code, found by file or module name: the modules, and what is named in them."""
