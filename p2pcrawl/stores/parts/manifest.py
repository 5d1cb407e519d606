"""The manifest of one writer: which of its parts are whole, and who claims what it writes.

``_manifests/WRITER.json`` is readable by people and by whatever comes after the crawl::

    {"format": "p2pcrawl-parts-1", "job": "...", "writer": "...", "revision": 17, "turn": 0,
     "heir": false, "rivals": [],
     "parts": [{"name": "part-...", "rows": 1000, "bytes": 52345, "sha256": "...", "again": 0}, ...]}

A part counts when it is listed in some manifest of its folder; each item is in one such part. Parts are only ever
added to the list, so that whoever has seen an item there may rely on it.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from p2pcrawl.model.errors import ConfigurationError

MANIFESTS = "_manifests"
KEYS = "_keys"
"""Folders whose names begin so are passed over by whatever reads a folder of Parquet."""
_FORMAT = "p2pcrawl-parts-1"
_PART = re.compile(r"part-([0-9a-f]{12})-(\d+)-[0-9a-f]{32}(\..+)")


@dataclass(frozen=True, slots=True)
class Part:
    """A part that is whole."""

    name: str
    rows: int
    bytes: int
    sha256: str
    again: int = 0
    """How many of its items came from pages that had been another master's."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A list of all that one writer of one job has brought to one folder."""

    job: str
    writer: str
    revision: int = 0
    """One more with each change, so that no two have the same bytes, of which some stores make their tags."""
    turn: int = 0
    """How often others have sealed it: what was on its way into it then cannot get in any more."""
    heir: bool = False
    """It was brought pages that had been others'."""
    rivals: tuple[str, ...] = ()
    """Writers that were brought pages of this one's."""
    parts: tuple[Part, ...] = ()

    def encode(self) -> bytes:
        """Returns the manifest as a JSON document."""
        return msgspec.json.format(msgspec.json.encode({"format": _FORMAT, **msgspec.to_builtins(self)}), indent=1)

    def name(self) -> str:
        """Returns the name of the manifest's file."""
        return manifest_name(self.writer)

    def with_part(self, part: Part) -> Manifest:
        """Returns the manifest with one part more."""
        return replace(self, revision=self.revision + 1, parts=(*self.parts, part))

    def of_heir(self) -> Manifest:
        """Returns the manifest of a writer that others have to look out for."""
        return replace(self, revision=self.revision + 1, heir=True)

    def sealed(self, rival: str | None) -> Manifest:
        """Returns the manifest after which nothing counts that its writer began before."""
        rivals = self.rivals if rival is None or rival in self.rivals else (*self.rivals, rival)
        return replace(self, revision=self.revision + 1, turn=self.turn + 1, rivals=rivals)

    def lists(self, name: str) -> bool:
        """Tells whether a part of this name counts."""
        return any(part.name == name for part in self.parts)


def decode_manifest(data: bytes, where: str) -> Manifest:
    """Reads a manifest. Raises ConfigurationError for one that we did not write, or a newer version did."""
    try:
        fields: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
        if fields.pop("format", None) != _FORMAT:
            raise ConfigurationError(f"{where} is no manifest of this version of p2pcrawl: give another folder")
        return msgspec.convert(fields, Manifest)
    except msgspec.MsgspecError as error:
        raise ConfigurationError(f"{where} is damaged ({error}): give another folder, or remove it") from None


def manifest_name(writer: str) -> str:
    """Returns the name of a writer's manifest."""
    return f"{MANIFESTS}/{writer}.json"


def keys_name(part: str) -> str:
    """Returns the name of the file that holds the keys of a part's items."""
    return f"{KEYS}/{part}.keys"


def writer_name(job: str, store: str) -> str:
    """Returns the name under which a store writes the items of one job."""
    return hashlib.blake2b(f"{job}/{store}".encode(), digest_size=6).hexdigest()


def part_name(writer: str, turn: int, keys: bytes, ending: str) -> str:
    """Returns the name of a part: the same for the same items of the same writer, and for no others.

    Only where the writer was sealed in between is it another one, so that what was on its way under the old name can
    be told from it and removed.
    """
    digest = hashlib.blake2b(keys + ending.encode(), digest_size=16).hexdigest()
    return f"part-{writer}-{turn}-{digest}{ending}"


def writer_of(part: str) -> tuple[str, int] | None:
    """Returns which writer a part's name is of, and in which turn; None for a file that is no part."""
    found = _PART.fullmatch(part)
    return (found[1], int(found[2])) if found else None
