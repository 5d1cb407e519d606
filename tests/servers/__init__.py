"""Tests against real servers of others, on loopback, in temporary folders."""
