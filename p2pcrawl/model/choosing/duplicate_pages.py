"""The choice of what happens to pages that say what another page has said before."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from p2pcrawl.model.errors import ConfigurationError

NEAR_BITS_MAX: Final = 6


class DuplicatePages(StrEnum):
    """The treatment of items of such pages."""

    KEPT = ""
    """Nobody looks."""
    MARK = "mark"
    """They say of which page they are duplicates."""
    DROP = "drop"
    """They are left out, and counted."""


def check_duplicates(choice: DuplicatePages, near: int, field: str) -> None:
    """Raises ConfigurationError for a distance that cannot be looked for, and for marks without a field."""
    if near < 0 or near > NEAR_BITS_MAX:
        raise ConfigurationError(
            f"DUPLICATES_NEAR is from 0 to {NEAR_BITS_MAX}, not {near}: so many bits of 64 may differ between texts"
        )
    if near and not choice:
        raise ConfigurationError("DUPLICATES_NEAR needs DUPLICATES, which is mark or drop")
    if choice is DuplicatePages.MARK and not field:
        raise ConfigurationError("DUPLICATES=mark needs DUPLICATES_FIELD, the field that says it")
