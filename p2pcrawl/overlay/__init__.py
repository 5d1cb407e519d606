"""Streams between peers."""
