"""Schedules at a peer: they are made and steered for people, and fired when their moments come."""
