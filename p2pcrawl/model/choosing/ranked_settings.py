"""Settings that are still being chosen: each value has a rank, and gives way to one of the same or a higher rank.

People's code sees them in ``update_settings``, in add-ons, and where it reads a project. What a crawl works with is the
frozen :class:`~p2pcrawl.model.crawl.settings.Settings` that is made of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, MutableMapping
from copy import deepcopy
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from p2pcrawl.model.choosing.reading import Readings

RANKS: Final = {"default": 0, "command": 10, "addon": 15, "project": 20, "spider": 30, "cmdline": 40}
"""Scrapy's names and numbers."""


def number_of_rank(priority: int | str) -> int:
    """Returns the number of a rank. Raises KeyError for a name that is none."""
    return RANKS[priority] if isinstance(priority, str) else priority


class RankedSettings(Readings, MutableMapping[str, Any]):
    """A mapping from names to values. ``known``: what is read where nothing was set."""

    def __init__(
        self,
        values: Mapping[str, Any] | str | None = None,
        priority: int | str = "project",
        known: Readings | None = None,
    ) -> None:
        self._known = known
        self._values: dict[str, Any] = {}
        self._ranks: dict[str, int] = {}
        self._frozen = False
        self.setdict(values, priority)

    def get(self, name: str, default: Any = None) -> Any:
        if name in self._values:
            return self._values[name]
        return self._known.get(name, default) if self._known is not None else default

    def __getitem__(self, name: str) -> Any:
        return self.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._values or (isinstance(name, str) and self.get(name) is not None)

    def __iter__(self) -> Iterator[str]:
        """Iterates over the names that were set."""
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def set(self, name: str, value: Any, priority: int | str = "project") -> None:
        """Sets a value, unless there is one of a higher rank."""
        self._check()
        rank = number_of_rank(priority)
        if name not in self._values or rank >= self._ranks[name]:
            self._values[name], self._ranks[name] = value, rank

    def __setitem__(self, name: str, value: Any) -> None:
        self.set(name, value)

    def __delitem__(self, name: str) -> None:
        self._check()
        del self._values[name], self._ranks[name]

    def pop(self, name: str, *default: Any) -> Any:
        """Removes what was set under a name, and returns it; where nothing was, the default. Raises KeyError."""
        if name not in self._values and default:
            return default[0]
        value = self._values[name]
        del self[name]
        return value

    def delete(self, name: str, priority: int | str = "project") -> None:
        """Removes a value, unless it is of a higher rank."""
        if number_of_rank(priority) >= self._ranks.get(name, RANKS["cmdline"] + 1):
            del self[name]

    def setdefault(self, name: str, default: Any = None, priority: int | str = "project") -> Any:
        if name not in self:
            self.set(name, default, priority)
        return self.get(name)

    def setdict(self, values: Mapping[str, Any] | str | None, priority: int | str = "project") -> None:
        """Sets all of a mapping, each value in its own rank where the mapping has ranks."""
        given: Mapping[str, Any] = json.loads(values) if isinstance(values, str) else values or {}
        for name, value in given.items():
            self.set(name, value, given.getpriority(name) if isinstance(given, RankedSettings) else priority)

    def update(self, values: Any = (), priority: int | str = "project", **more: Any) -> None:  # type: ignore[override]
        """Does as :meth:`setdict`."""
        self.setdict(values if isinstance(values, Mapping | str) else dict(values), priority)
        self.setdict(more, priority)

    def setmodule(self, module: ModuleType | str, priority: int | str = "project") -> None:
        """Sets the upper-case names of a module, which may be named."""
        if isinstance(module, str):
            module = import_module(module)
        self.setdict({name: value for name, value in vars(module).items() if name.isupper()}, priority)

    def getpriority(self, name: str) -> Any:
        """Returns the number of a value's rank; None where there is none."""
        return self._ranks.get(name, 0 if name in self else None)

    def maxpriority(self) -> int:
        """Returns the highest rank of any value."""
        return max(self._ranks.values(), default=0)

    def add_to_list(self, name: str, item: Any) -> None:
        """Adds an item to a list, in its rank, unless it is in it."""
        self._change_list(name, lambda held: held if item in held else [*held, item])

    def remove_from_list(self, name: str, item: Any) -> None:
        """Removes an item from a list, in its rank. Raises ValueError where it is not in it."""
        if item not in self.getlist(name):
            raise ValueError(f"{item!r} is not in setting {name}")
        self._change_list(name, lambda held: [each for each in held if each != item])

    def replace_in_component_priority_dict(
        self, name: str, old_cls: type, new_cls: type, priority: int | None = None
    ) -> None:
        """Puts a component in the place of another one. Raises KeyError where that is not there."""
        held = self.getdict(name)
        found = [key for key in held if _same(key, old_cls)]
        if not found:
            raise KeyError(f"{old_cls} is not in setting {name}")
        order = [held.pop(key) for key in found][-1]
        held[new_cls] = order if priority is None else priority
        self.set(name, held, self._rank_kept(name))

    def setdefault_in_component_priority_dict(self, name: str, cls: type, priority: int | None) -> None:
        """Adds a component, unless it is there."""
        held = self.getdict(name)
        if not any(_same(key, cls) for key in held):
            self.set(name, {**held, cls: priority}, self._rank_kept(name))

    def set_in_component_priority_dict(self, name: str, cls: type, priority: int | None) -> None:
        """Puts a component into its place in the order, whether or not it is there."""
        held = {key: order for key, order in self.getdict(name).items() if not _same(key, cls)}
        self.set(name, {**held, cls: priority}, self._rank_kept(name))

    def copy(self) -> RankedSettings:
        """Returns a copy that can be changed."""
        made = type(self)(known=self._known)
        made._values, made._ranks = deepcopy(self._values), dict(self._ranks)
        return made

    def freeze(self) -> None:
        """Refuses changes from now on."""
        self._frozen = True

    def frozencopy(self) -> RankedSettings:
        """Returns a copy that cannot be changed."""
        made = self.copy()
        made.freeze()
        return made

    def copy_to_dict(self) -> dict[str, Any]:
        return dict(self._values)

    def ranked(self) -> list[tuple[int, str, Any]]:
        """Returns the ranks, names and values that were set, lowest rank first."""
        return sorted(((self._ranks[n], n, v) for n, v in self._values.items()), key=lambda each: each[0])

    def _change_list(self, name: str, change: Any) -> None:
        self.set(name, change(self.getlist(name)), self._rank_kept(name))

    def _rank_kept(self, name: str) -> int:
        return self._ranks.get(name, RANKS["project"])

    def _check(self) -> None:
        if self._frozen:
            raise TypeError("settings cannot be changed any more: do it in update_settings, or in the project")


def _same(key: Any, cls: type) -> bool:
    return key is cls or key in (f"{cls.__module__}.{cls.__qualname__}", f"{cls.__module__}:{cls.__qualname__}")
