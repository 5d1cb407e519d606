"""Pages that the machines of a cluster have stored: what is here, and the search for a page among all of them."""
