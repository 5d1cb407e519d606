"""Hooks for people's components while a slave works: signals that are sent, stats that are kept, the engine."""
