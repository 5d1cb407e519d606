"""Reading settings by their upper-case names, as one of several types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from p2pcrawl.model.errors import ConfigurationError

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off", ""})


class Readings:
    """Getters over :meth:`get`, for classes that have settings. An unset setting, or None, is the default."""

    __slots__ = ()

    def get(self, name: str, default: Any = None) -> Any:
        """Returns the value of a setting as it is; the default where there is none."""
        raise NotImplementedError

    def getbool(self, name: str, default: bool = False) -> bool:
        """Returns a setting that is yes or no, in text too. Raises ConfigurationError for what is neither."""
        value = self._given(name, default)
        if isinstance(value, str):
            text = value.strip().lower()
            if text in TRUE or text in FALSE:
                return text in TRUE
            raise ConfigurationError(f"setting {name} is true or false, not {value!r}")
        return bool(value)

    def getint(self, name: str, default: int = 0) -> int:
        return int(self._given(name, default))

    def getfloat(self, name: str, default: float = 0.0) -> float:
        return float(self._given(name, default))

    def getlist(self, name: str, default: Any = None) -> list[Any]:
        """Returns a list; of text its parts between commas."""
        value = self._given(name, default)
        if isinstance(value, str):
            return value.split(",")
        return list(value or ())

    def getdict(self, name: str, default: Any = None) -> dict[Any, Any]:
        """Returns a mapping as a dict; text is read as JSON."""
        value = self._given(name, default)
        if isinstance(value, str):
            value = json.loads(value)
        return dict(value or {})

    def getdictorlist(self, name: str, default: Any = None) -> dict[Any, Any] | list[Any]:
        """Returns a dict or a list: of text what it says as JSON, or else its parts between commas."""
        value: Any = self._given(name, default)
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                return list(value.split(","))
        return dict(value) if isinstance(value, Mapping) else list(value or ())

    def getwithbase(self, name: str) -> dict[Any, Any]:
        """Returns the components of a setting, over those of ``NAME_BASE`` if there is such a setting."""
        return {**self.getdict(f"{name}_BASE"), **self.getdict(name)}

    def _given(self, name: str, default: Any) -> Any:
        value = self.get(name)
        return default if value is None else value
