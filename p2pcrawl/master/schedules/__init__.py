"""Schedules at a master: what is known of them, durable and told to the others."""
