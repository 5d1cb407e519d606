"""The formats that a part can have, by the ending of the address; each part is a whole document of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.files.csv_format import Csv
from p2pcrawl.stores.files.file_packing import GZIP, ZSTD
from p2pcrawl.stores.files.formats import JsonLines
from p2pcrawl.stores.tables.column_types import Columns


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

    def __init__(self, compress: Callable[[bytes], bytes]) -> None:
        self._compress = compress

    def encode(self, items: Sequence[bytes], columns: Columns) -> Encoded:
        return Encoded(self._compress(JsonLines().encode(items)))


class TablePart:
    """A header line and one line per item. ``safe``: no cell of it is a formula."""

    columned = True

    def __init__(self, compress: Callable[[bytes], bytes], *, safe: bool = True) -> None:
        self._compress = compress
        self._safe = safe

    def encode(self, items: Sequence[bytes], columns: Columns) -> Encoded:
        if not columns:
            return Encoded(b"", dict.fromkeys(range(len(items)), NO_FIELD))
        return Encoded(self._compress(Csv(list(columns), safe=self._safe).encode(items)))


NO_FIELD = "it has no field with a value, and nothing has said yet which columns there are"


def as_it_is(data: bytes) -> bytes:
    """Returns the same bytes."""
    return data


_COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {"": as_it_is, ".gz": GZIP.whole, ".zst": ZSTD.whole}
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
    compress = _COMPRESSIONS.get(compression)
    if compress is not None and inner in _LINED:
        return LinedPart(compress)
    if compress is not None and inner == ".csv":
        return TablePart(compress, safe=csv_safe)
    raise ConfigurationError(f"cannot tell the format of the parts of {where}: end it in {ENDINGS}")
