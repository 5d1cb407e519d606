"""Mappings that know their keys in any case, or a bounded number of them."""

from __future__ import annotations

from collections import OrderedDict, UserDict
from collections.abc import Container
from typing import Any, Self


class CaseInsensitiveDict(UserDict[str, Any]):
    """A dict whose keys are the same in any case; they are kept as they were written last."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self._written: dict[str, str] = {}
        super().__init__(*given, **named)

    def __getitem__(self, key: str) -> Any:
        return self.data[self._written[key.lower()]]

    def __setitem__(self, key: str, value: Any) -> None:
        if key in self:
            del self[key]
        self._written[key.lower()] = key
        self.data[key] = value

    def __delitem__(self, key: str) -> None:
        del self.data[self._written.pop(key.lower())]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key.lower() in self._written

    def copy(self) -> Self:
        return type(self)(self.data)

    __copy__ = copy

    def __ior__(self, other: Any) -> Self:  # type: ignore[override,misc]
        self.update(other)
        return self


class LocalCache(OrderedDict[Any, Any]):
    """A dict of at most ``limit`` keys: the oldest make room."""

    def __init__(self, limit: int | None = None) -> None:
        super().__init__()
        self.limit = limit

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.limit:
            while len(self) >= self.limit:
                self.popitem(last=False)
        super().__setitem__(key, value)


class SequenceExclude:
    """Holds all that a sequence does not."""

    def __init__(self, seq: Container[Any]) -> None:
        self.seq = seq

    def __contains__(self, item: Any) -> bool:
        return item not in self.seq
