"""Awaitables in the place of deferreds: there is no Twisted, and what is awaited is awaited as it is."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import Any


def deferred_from_coro(given: Any) -> Any:
    """Returns what it was given: callbacks and components may return awaitables here."""
    return given


def maybe_deferred_to_future(given: Awaitable[Any]) -> Awaitable[Any]:
    """Returns what it was given, which can be awaited. Raises TypeError for what cannot."""
    if not inspect.isawaitable(given):
        raise TypeError(f"a {type(given).__name__} cannot be awaited")
    return given


async def ensure_awaitable(given: Any) -> Any:
    """Returns a value, awaited if it can be."""
    return await given if inspect.isawaitable(given) else given
