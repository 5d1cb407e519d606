"""The periods at which pages are asked again, as people write them."""

from __future__ import annotations

from typing import Any

from p2pcrawl.model.choosing.setting_bounds import SECONDS_MAX
from p2pcrawl.model.errors import ConfigurationError

ADAPTIVE_WORD = "adaptive"


def revisit_period(value: Any, name: str) -> float | str:
    """Reads a period: seconds from 1 on, 0 or nothing for never, or ``adaptive``. Raises ConfigurationError.

    ``name``: of the setting, for whoever reads the error.
    """
    if value is None or value is False or value == "":
        return 0.0
    if isinstance(value, str) and value.strip().lower() in (ADAPTIVE_WORD, "never"):
        return ADAPTIVE_WORD if value.strip().lower() == ADAPTIVE_WORD else 0.0
    try:
        seconds = float(value) if not isinstance(value, bool) else -1.0
    except (TypeError, ValueError):
        seconds = -1.0
    if seconds != 0 and not 1 <= seconds <= SECONDS_MAX:
        raise ConfigurationError(f'{name} is a number of seconds from 1 on, "adaptive", or 0 for never, not {value!r}')
    return seconds


def check_periods(index: float | str, detail: float | str, least: float, greatest: float) -> None:
    """Raises ConfigurationError for periods that cannot be together."""
    for name, value in (("REVISIT_INDEX", index), ("REVISIT_DETAIL", detail)):
        seconds = revisit_period(value, name)
        if not isinstance(seconds, str) and seconds > greatest:
            raise ConfigurationError(f"{name} is longer than REVISIT_MAX ({greatest:g} s), the longest period of all")
    if least > greatest:
        raise ConfigurationError(f"REVISIT_MIN ({least:g} s) is longer than REVISIT_MAX ({greatest:g} s)")
