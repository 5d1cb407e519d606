"""Usage signals: what sites say may be done with their content, read from headers, pages and files at their root."""
