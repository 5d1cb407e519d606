"""Observations from outside: while a run goes on, and from disks after it."""
