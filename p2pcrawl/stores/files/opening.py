"""From what the user typed after -o or -O to a sink, or to one line that says why not."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.files.csv_format import Csv
from p2pcrawl.stores.files.file_packing import GZIP, ZSTD
from p2pcrawl.stores.files.file_sink import FileSink
from p2pcrawl.stores.files.formats import Format, JsonArray, JsonLines
from p2pcrawl.stores.files.local_sink import LocalSink
from p2pcrawl.stores.files.stream_sink import StreamSink
from p2pcrawl.stores.files.xml_format import Xml

STANDARD_OUTPUT = "-"

_FORMATS: dict[str, Callable[[], Format]] = {
    "jsonl": JsonLines,
    "jl": JsonLines,
    "ndjson": JsonLines,
    "json": JsonArray,
    "csv": Csv,
    "xml": Xml,
}
_PACKINGS = {".gz": GZIP, ".zst": ZSTD}


def ending_of(path: str) -> tuple[str, str]:
    """Returns the ending by which a path names its format, in lower case, and that by which it says that it is
    compressed: ``.gz``, ``.zst`` or "".
    """
    lowered = path.lower()
    packing = next((each for each in _PACKINGS if lowered.endswith(each)), "")
    ending = os.path.splitext("x" + os.path.basename(lowered.removesuffix(packing)))[1]
    return ending.removeprefix("."), packing


def open_local_sink(
    path: str,
    *,
    replace: bool,
    fields: Sequence[str] = (),
    csv_safe: bool = True,
    csv_marked: bool = False,
    format: str = "",
    indent: int = 0,
) -> LocalSink:
    """Opens the sink for ``path``, in the ``format`` that is named as an ending (``csv``, ``jsonl.gz``), else in that
    of its own ending; ``-`` is standard output.

    Nothing is opened, made or changed before the sink's ``resume``. ``fields`` are the columns of CSV, ``csv_safe``
    says that no cell of it may be a formula, ``csv_marked`` that it begins with a byte order mark, and
    what is in an item of JSON is set off by ``indent`` spaces.
    Raises ConfigurationError when the path can already be seen not to work.
    """
    if path == STANDARD_OUTPUT:
        return StreamSink()
    ending, packing = ending_of(f"x.{format}" if format else path)
    if ending == "warc":
        raise ConfigurationError(
            f"{path} would hold raw pages, not items: `crawl -o` takes it; in a cluster start peers with --warc DIR"
        )
    if ending == "parquet" and not packing:
        _check_place(path)
        return _parquet_file(path, fields, replace)
    if ending not in _FORMATS:
        raise ConfigurationError(
            f"cannot tell the format of the output {path!r}: "
            "end it in .jsonl, .json, .csv or .xml (and .gz or .zst to compress it) or in .parquet, "
            "or give - for standard output"
        )
    _check_place(path)
    written: Format
    if ending == "csv":
        written = Csv(fields, safe=csv_safe, marked=csv_marked)
    else:
        written = JsonArray(indent) if ending == "json" else _FORMATS[ending]()
    return FileSink(path, written, packing=_PACKINGS.get(packing), replace=replace)


def _parquet_file(path: str, fields: Sequence[str], replace: bool) -> LocalSink:
    try:
        from p2pcrawl.stores.files.parquet_file import ParquetFile
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"{path} needs the package {error.name}: pip install 'p2pcrawl[parquet]'") from None
    return ParquetFile(path, fields=fields, replace=replace)


def _check_place(path: str) -> None:
    folder = os.path.dirname(path) or "."
    try:
        if not os.path.isdir(folder):
            raise ConfigurationError(f"cannot write {path}: there is no folder {folder}; make it first")
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            if not os.access(folder, os.W_OK | os.X_OK):
                raise ConfigurationError(f"cannot write {path}: no permission to make files in {folder}") from None
            return
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot write {path!r}: {getattr(error, 'strerror', None) or error}") from None
    if stat.S_ISDIR(mode):
        raise ConfigurationError(f"cannot write {path}: it is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        raise ConfigurationError(f"cannot write {path}: it is not a regular file; give - for standard output")
    if not os.access(path, os.R_OK | os.W_OK):
        raise ConfigurationError(f"cannot write {path}: no permission to read and write it")
