"""What must be shown of a whole crawl, at a size that fits every change. Full size: benchmarks/ and ``make soak``."""
