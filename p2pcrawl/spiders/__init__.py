"""Spiders: the class that people write, the response that it gets, and how both are found and run."""
