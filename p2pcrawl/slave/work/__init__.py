"""The work on a page: its job, its spider, and what one page yields."""
