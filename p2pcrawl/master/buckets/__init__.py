"""Buckets that change hands: which view is acted in, who takes over, who lets go, who leaves."""
