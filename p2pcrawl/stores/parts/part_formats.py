"""The formats that a part can have, by the ending of the address; each part is a whole document of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.files.csv_format import Csv
from p2pcrawl.stores.files.file_packing import GZIP, ZSTD, Packing
from p2pcrawl.stores.files.formats import JsonLines
from p2pcrawl.stores.tables.column_types import Columns
from p2pcrawl.stores.tables.item_chunks import chunks


@dataclass(frozen=True, slots=True)
class Encoded:
    """A part as bytes, and the items that are not in it, with why: by their places."""

    data: bytes
    refused: dict[int, str] = field(default_factory=dict)


class PartFormat(Protocol):
    """The way in which items become the bytes of a part. Slow, and called in a thread."""

    columned: bool
    """Whether its parts have columns, which all of a folder share."""

    def encode(self, items: Sequence[bytes], columns: Columns) -> Encoded:
        """Returns a part with the items, in order."""
        ...


class LinedPart:
    """One JSON object per line."""

    columned = False

    def __init__(self, packing: Packing | None) -> None:
        self._packing = packing

    def encode(self, items: Sequence[bytes], columns: Columns) -> Encoded:
        return Encoded(_packed(items, JsonLines(), self._packing))


class TablePart:
    """A header line and one line per item. ``safe``: no cell of it is a formula."""

    columned = True

    def __init__(self, packing: Packing | None, *, safe: bool = True) -> None:
        self._packing = packing
        self._safe = safe

    def encode(self, items: Sequence[bytes], columns: Columns) -> Encoded:
        if not columns:
            return Encoded(b"", dict.fromkeys(range(len(items)), NO_FIELD))
        return Encoded(_packed(items, Csv(list(columns), safe=self._safe), self._packing))


NO_FIELD = "it has no field with a value, and nothing has said yet which columns there are"


_PACKINGS: dict[str, Packing | None] = {"": None, ".gz": GZIP, ".zst": ZSTD}
_LINED = (".jsonl", ".jl", ".ndjson")
ENDINGS = ".jsonl, .csv (each also with .gz or .zst) or .parquet"


def split_ending(name: str) -> tuple[str, str]:
    """Splits a file's name into its stem and its ending, compression included: ``a.b``, ``.csv.gz``."""
    compression = next((each for each in (".gz", ".zst") if name.lower().endswith(each)), "")
    inner = name[: len(name) - len(compression)]
    stem, dot, last = inner.rpartition(".")
    return (stem if dot else inner), dot + last * bool(dot) + name[len(inner) :]


def part_format(ending: str, where: str, *, csv_safe: bool = True) -> PartFormat:
    """Returns the format of an ending. Raises ConfigurationError."""
    inner, _, last = ending.lower().rpartition(".")
    compression = f".{last}" if inner else ""
    inner = inner or f".{last}"
    if inner == ".parquet" and not compression:
        try:
            from p2pcrawl.stores.parts.parquet_part import ParquetPart
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                f"{where} needs the package {error.name}: pip install 'p2pcrawl[parquet]'"
            ) from None

        return ParquetPart()
    if compression in _PACKINGS and inner in _LINED:
        return LinedPart(_PACKINGS[compression])
    if compression in _PACKINGS and inner == ".csv":
        return TablePart(_PACKINGS[compression], safe=csv_safe)
    raise ConfigurationError(f"cannot tell the format of the parts of {where}: end it in {ENDINGS}")


def _packed(items: Sequence[bytes], document: JsonLines | Csv, packing: Packing | None) -> bytes:
    if packing is None:
        return b"".join(document.encode(chunk) for chunk in chunks(items))
    member = packing.compressor()
    pieces = [member.compress(document.encode(chunk)) for chunk in chunks(items)]
    return b"".join([*pieces, member.flush()])
