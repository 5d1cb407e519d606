"""Measurements of sinks, against real servers on loopback: ``python -m benchmarks.sinks``."""
