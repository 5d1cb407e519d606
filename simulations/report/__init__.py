"""Reports with pictures: one HTML page that needs nothing else."""
