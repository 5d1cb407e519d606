"""The signals of a crawl."""

from p2pcrawl.spiders.hooks.signal_bus import SignalBus as SignalManager

__all__ = ["SignalManager"]
