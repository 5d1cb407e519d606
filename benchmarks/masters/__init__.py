"""Measurements of clusters: who is taken for alive, who steps in, what a death or a division costs."""
