"""The log of a script's process, and lines as a formatter returns them."""

from p2pcrawl.spiders.aids.log_formatter import logformatter_adapter
from p2pcrawl.spiders.aids.log_setup import configure_logging

__all__ = [
    "configure_logging",
    "logformatter_adapter",
]
