"""Sinks of items: where results go, each once, whatever crashes."""
