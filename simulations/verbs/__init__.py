"""The verbs of ``python -m simulations``."""
