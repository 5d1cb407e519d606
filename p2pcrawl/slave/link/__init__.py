"""The way to the master: beats and fence, reports in order, and what could not be reported."""
