"""The processors' way to the context of their loader."""

from itemloaders.common import wrap_loader_context

__all__ = ["wrap_loader_context"]
