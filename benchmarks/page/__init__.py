"""The dashboard in a real browser: how it is driven, and what it costs."""
