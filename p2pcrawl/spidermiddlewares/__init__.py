"""Built-in spider middlewares, to be subclassed."""
