"""The masters that this one knew when it last ran: how it finds them again, and knows who is missing."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.node import Address, Member, NodeId, Status, parse_address

log = logging.getLogger(__name__)

FILE = "members.json"


class Acquaintances:
    """A file in the data folder. What cannot be read in it is as if it were not there: others will tell."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written = ""

    def load(self) -> list[Member]:
        """Those that had not left in order."""
        try:
            rows = json.loads((self._folder / FILE).read_text())
            return [_member(row) for row in rows]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError, ConfigurationError) as error:
            log.warning("cannot read %s: %s", self._folder / FILE, error)
            return []

    def save(self, members: Iterable[Member]) -> None:
        """Durable before long; called when somebody came or went."""
        text = json.dumps([_row(m) for m in sorted(members, key=lambda m: m.id)], indent=1)
        if text == self._written:
            return
        draft = self._folder / f".{FILE}.new"
        try:
            draft.write_text(text)
            draft.replace(self._folder / FILE)
        except OSError as error:
            log.warning("cannot write %s: %s", self._folder / FILE, error)
            return
        self._written = text


def _row(member: Member) -> dict[str, Any]:
    return {
        "id": member.id,
        "address": member.address,
        "incarnation": member.incarnation,
        "weight": member.weight,
        "boot": member.boot.hex(),
        "store": member.store.hex(),
        "api": member.api,
    }


def _member(row: dict[str, Any]) -> Member:
    parse_address(row["address"])
    return Member(
        NodeId(str(row["id"])),
        Address(row["address"]),
        int(row["incarnation"]),
        Status.DEAD,
        int(row["weight"]),
        bytes.fromhex(row["boot"]),
        bytes.fromhex(row["store"]),
        api=Address(row["api"]),
    )
