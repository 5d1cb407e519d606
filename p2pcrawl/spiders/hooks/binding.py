"""People's methods, called with the spider where they want it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def bound(component: Any, name: str, spider: Any, given: int = 0) -> Callable[..., Any]:
    """Returns a method that is called with ``given`` arguments, whether or not it takes the spider after them."""
    method = getattr(component, name)
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return lambda *arguments: method(*arguments, spider)
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(places) > given or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return lambda *arguments: method(*arguments, spider)
    if any(p.name == "spider" and p.kind is p.KEYWORD_ONLY for p in parameters):
        return lambda *arguments: method(*arguments, spider=spider)
    return method  # type: ignore[no-any-return]
