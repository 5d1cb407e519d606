"""All controls by name."""

from __future__ import annotations

from . import (
    clearing,
    ends,
    hosts,
    injections,
    laws,
    leases,
    members,
    openings,
    owners,
    rows,
    sinks,
    storage,
    wanted,
    words,
)
from .making.control import Control

CONTROLS: dict[str, Control] = {
    **owners.CONTROLS,
    **hosts.CONTROLS,
    **storage.CONTROLS,
    **rows.CONTROLS,
    **leases.CONTROLS,
    **ends.CONTROLS,
    **members.CONTROLS,
    **openings.CONTROLS,
    **sinks.CONTROLS,
    **injections.CONTROLS,
    **clearing.CONTROLS,
    **wanted.CONTROLS,
    **words.CONTROLS,
    **laws.CONTROLS,
}
