"""The variables under which peers and commands of a test keep what is theirs in a folder of the test."""

from __future__ import annotations

from pathlib import Path


def own_environment(folder: Path) -> dict[str, str]:
    """Returns the variables for what a user's keys and the peers' presence are kept under."""
    return {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_STATE_HOME": str(folder / "state")}
