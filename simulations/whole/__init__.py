"""One whole run: from a plan to a verdict."""
