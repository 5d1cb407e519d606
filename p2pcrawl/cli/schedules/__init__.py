"""The verb ``schedule``: crawls on a calendar."""
