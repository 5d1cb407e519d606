"""Item pipelines that are there to be used and subclassed."""
