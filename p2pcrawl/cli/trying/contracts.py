"""Contracts in the docstrings of callbacks: a page to try them on, and what has to come of it.

@url https://quotes.example/
@cb_kwargs {"tag": "humor"}
@meta {"cookiejar": 1}
@returns items 1 10
@scrapes text author
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from itemadapter import ItemAdapter

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.aids.own_contract import Contract
from p2pcrawl.spiders.spider import Spider

_line = re.compile(r"^[ \t]*@(\w+)[ \t]*(.*?)[ \t]*$", re.MULTILINE)
EMPTY: Final[Mapping[str, type[Contract]]] = MappingProxyType({})
_KNOWN = ("url", "cb_kwargs", "meta", "returns", "scrapes")


@dataclass(slots=True)
class Promises:
    """Promises in the docstring of one callback. ``returns``: a kind, at least and at most how many."""

    callback: str
    url: str = ""
    cb_kwargs: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    returns: list[tuple[str, float, float]] = field(default_factory=list)
    scrapes: list[str] = field(default_factory=list)
    own: list[Contract] = field(default_factory=list)


def contracts_of(cls: type[Spider], own: Mapping[str, type[Contract]] = EMPTY) -> Iterator[Promises]:
    """Yields the contracts of a spider's callbacks: of those whose docstrings name a URL. ``own``: people's, by their
    words. Raises ConfigurationError for one that cannot be read.
    """
    for name, method in inspect.getmembers(cls, callable):
        text = method.__doc__ or ""
        if name.startswith("__") or not re.search(r"^[ \t]*@url[ \t]", text, re.MULTILINE):
            continue
        contract = Promises(name)
        for word, rest in _line.findall(text):
            try:
                if word in own:
                    contract.own.append(own[word](method, *rest.split()))
                else:
                    _read(contract, word, rest)
            except ValueError as error:
                raise ConfigurationError(f"{cls.__name__}.{name}: @{word} {rest}: {error}") from error
        yield contract


def _read(contract: Promises, word: str, rest: str) -> None:
    words = rest.split()
    match word:
        case "url":
            contract.url = rest
        case "cb_kwargs":
            contract.cb_kwargs = dict(json.loads(rest))
        case "meta":
            contract.meta = dict(json.loads(rest))
        case "returns":
            if not 1 <= len(words) <= 3 or words[0].rstrip("s") not in ("item", "request"):
                raise ValueError("it has the form @returns items|requests [MIN [MAX]]")
            least = float(words[1]) if len(words) > 1 else 1
            contract.returns.append((words[0].rstrip("s"), least, float(words[2]) if len(words) > 2 else math.inf))
        case "scrapes":
            contract.scrapes.extend(words)
        case _:
            raise ValueError(f"there are @{', @'.join(_KNOWN)}")


def breaches(contract: Promises, items: Sequence[Any], requests: Sequence[Any]) -> Iterator[str]:
    """Yields in words what a callback's results lack of what its contract promises."""
    for kind, least, most in contract.returns:
        count = len(items if kind == "item" else requests)
        if not least <= count <= most:
            wanted = f"{least:g}" if least == most else f"{least:g} to {most:g}" if most < math.inf else f"{least:g}.."
            yield f"it returned {count} {kind}s, and not {wanted}"
    for item in items:
        if missing := [name for name in contract.scrapes if name not in ItemAdapter(item)]:
            yield f"an item has no {', '.join(missing)}: {item!s:.200}"
