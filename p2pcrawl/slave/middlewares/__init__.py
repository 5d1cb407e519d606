"""Middlewares: people's own beside the built-in components, in the order that settings say."""
