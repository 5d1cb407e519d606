"""Work beside the loop."""

from asyncio import to_thread as run_in_thread

__all__ = ["run_in_thread"]
