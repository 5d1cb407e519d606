"""Parts of extensions, to be subclassed."""
