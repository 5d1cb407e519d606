"""The HTTP API: who may ask, how connections are bounded, and the routes."""
