"""The processors that values of a field pass on their way into an item."""

from itemloaders.processors import Compose, Identity, Join, MapCompose, SelectJmes, TakeFirst

__all__ = ["Compose", "Identity", "Join", "MapCompose", "SelectJmes", "TakeFirst"]
