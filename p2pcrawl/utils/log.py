"""The log of a script's process."""

from p2pcrawl.spiders.aids.log_setup import configure_logging

__all__ = ["configure_logging"]
