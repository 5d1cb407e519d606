"""The way in which itemadapter looks at items with fields: ``ItemAdapter(item)`` works on them as on any other."""

from __future__ import annotations

from collections.abc import Iterator, KeysView
from types import MappingProxyType
from typing import Any

from itemadapter.adapter import AdapterInterface

from p2pcrawl.spiders.items.item import Item


class FieldsAdapter(AdapterInterface):
    """The adapter of :class:`Item`, which knows the fields and what is said of each."""

    item: Item

    @classmethod
    def is_item_class(cls, item_class: type) -> bool:
        """Tells whether it is a class of items with fields."""
        return issubclass(item_class, Item)

    @classmethod
    def get_field_meta_from_class(cls, item_class: type, field_name: str) -> MappingProxyType[str, Any]:
        """Returns what is said of a field. Raises KeyError for a name that was not declared."""
        return MappingProxyType(item_class.fields[field_name])  # type: ignore[attr-defined]

    @classmethod
    def get_field_names_from_class(cls, item_class: type) -> list[str]:
        """Returns the names of the declared fields."""
        return list(item_class.fields)  # type: ignore[attr-defined]

    def field_names(self) -> KeysView[str]:
        """Returns the names of the declared fields, whether they have a value or not."""
        return self.item.fields.keys()

    def __getitem__(self, name: str) -> Any:
        return self.item[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.item[name] = value

    def __delitem__(self, name: str) -> None:
        del self.item[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.item)

    def __len__(self) -> int:
        return len(self.item)
