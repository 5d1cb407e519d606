"""A slave: fetches what its master grants, runs the spider, reports."""
