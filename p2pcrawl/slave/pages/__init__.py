"""Pages: what a slave does for one of them, from the request to the report; and what it remembers from page to page."""
