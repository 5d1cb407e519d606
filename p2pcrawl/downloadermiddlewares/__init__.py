"""Built-in downloader middlewares, to be subclassed."""
