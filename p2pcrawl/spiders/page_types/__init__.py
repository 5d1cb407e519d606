"""Types of pages: what a page is, told by its text, its links, its address and what it states of itself."""
