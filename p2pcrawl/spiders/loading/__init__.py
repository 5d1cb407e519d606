"""From what a user typed or wrote to a class that can run, and back to a reference that travels."""
