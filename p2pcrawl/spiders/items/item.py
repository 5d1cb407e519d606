"""Items that say which fields they have: a class with fields, each a mapping of what is to be known about it.

An item behaves like a dict that takes these names and no others. Fields are no attributes, so that a field may be
called ``keys`` or ``copy``. The libraries that people use on items (itemadapter, itemloaders) are told of the class
when the first class of items is declared, so that a crawl of plain dicts loads neither.
"""

from __future__ import annotations

from abc import ABCMeta
from collections import deque
from collections.abc import Iterator, KeysView, MutableMapping
from copy import deepcopy
from pprint import pformat
from typing import Any, Self


class Field(dict[str, Any]):
    """A declared field. Its entries are for those who work on items: ``serializer`` makes what outputs get of a value,
    ``input_processor`` and ``output_processor`` are for loaders; others may stand in it.
    """


class ItemMeta(ABCMeta):
    """The class of classes of items: gathers the fields that they and their bases declare."""

    fields: dict[str, Field]
    _declared: dict[str, Field]
    """Those of this class alone."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **keywords: Any) -> ItemMeta:
        declared = {key: value for key, value in namespace.items() if isinstance(value, Field)}
        rest = {key: value for key, value in namespace.items() if key not in declared}
        rest["_declared"] = {**rest.get("fields", {}), **declared}
        cls = super().__new__(mcs, name, bases, rest, **keywords)
        parents = [each for each in reversed(cls.__mro__) if isinstance(each, ItemMeta)]
        # Those that were added to a parent while running, which it did not declare, come first.
        added = {key: value for each in parents if each is not cls for key, value in each.fields.items()}
        cls.fields = added | {key: value for each in parents for key, value in each._declared.items()}
        return cls


class Item(MutableMapping[str, Any], metaclass=ItemMeta):
    """The base of what people declare: ``class Book(Item): title = Field()``.

    ``fields`` has the declared fields of a class by name, those of its bases too. An item takes what ``dict()`` takes.
    Reading a field that has no value, and writing one that was not declared, raises KeyError.
    """

    fields: dict[str, Field]

    def __init__(self, *values: Any, **named: Any) -> None:
        self._values: dict[str, Any] = {}
        for name, value in dict(*values, **named).items():
            self[name] = value

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        _tell_itemadapter()

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self.fields:
            raise KeyError(f"{type(self).__name__} does not support field: {name}")
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def keys(self) -> KeysView[str]:
        """Returns the names of the fields that have a value."""
        return self._values.keys()

    def copy(self) -> Self:
        """Returns an item with the same values."""
        return type(self)(self)

    __copy__ = copy

    def deepcopy(self) -> Self:
        """Returns an item with copies of the values, and of what is in them."""
        return deepcopy(self)

    def __getattr__(self, name: str) -> Any:
        if name in type(self).fields:
            raise AttributeError(f"a field is no attribute: write item[{name!r}]")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise AttributeError(f"a field is no attribute: write item[{name!r}] = {value!r:.80}")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return pformat(dict(self._values))

    __hash__ = object.__hash__


def _tell_itemadapter() -> None:
    """Adds the adapter for these items to those of itemadapter, once."""
    from itemadapter import ItemAdapter

    from p2pcrawl.spiders.items.item_adapter import FieldsAdapter

    known = ItemAdapter.ADAPTER_CLASSES
    if FieldsAdapter not in known:
        ItemAdapter.ADAPTER_CLASSES = deque([FieldsAdapter, *known])
