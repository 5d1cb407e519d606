"""A prompt in the middle of a crawl."""

from p2pcrawl.cli.trying.prompts import inspect_response

__all__ = ["inspect_response"]
