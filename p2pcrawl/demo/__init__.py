"""A synthetic site on loopback, and a crawl of it that checks its own result."""
