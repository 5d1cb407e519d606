"""Measurements at full size. The acceptance tests run the same scenarios, smaller."""
