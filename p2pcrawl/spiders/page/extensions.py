"""Extensions of what is known to be no page, such as archives, pictures and films."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

IGNORED_EXTENSIONS = [
    *("7z", "7zip", "bz2", "rar", "tar", "tar.gz", "xz", "zip"),
    *("mng", "pct", "bmp", "gif", "jpg", "jpeg", "png", "pst", "psp", "tif", "tiff", "ai", "drw", "dxf", "eps", "ps"),
    *("svg", "cdr", "ico", "webp"),
    *("mp3", "wma", "ogg", "wav", "ra", "aac", "mid", "au", "aiff"),
    *("3gp", "asf", "asx", "avi", "mov", "mp4", "mpg", "qt", "rm", "swf", "wmv", "m4a", "m4v", "flv", "webm"),
    *("xls", "xlsm", "xlsx", "xltm", "xltx", "potm", "potx", "ppt", "pptm", "pptx", "pps", "doc", "docb", "docm"),
    *("docx", "dotm", "dotx", "odt", "ods", "odg", "odp"),
    *("css", "pdf", "exe", "bin", "rss", "dmg", "iso", "apk", "jar", "sh", "rb", "js", "hta", "bat", "cpl", "msi"),
    *("msp", "py"),
]
"""Extensions that links are not followed to by default: those that Scrapy's link extractors leave out."""


def with_extension(extensions: Iterable[str]) -> Callable[[str], bool]:
    """Returns a test whether the path of a normalised URL ends with one of these extensions, whatever its case."""
    return _with_extension(frozenset(each.lower().lstrip(".") for each in extensions))


@lru_cache(maxsize=64)
def _with_extension(extensions: frozenset[str]) -> Callable[[str], bool]:
    last = frozenset(each.rpartition(".")[2] for each in extensions)

    def ends_so(url: str) -> bool:
        path = url[: url.index("?")] if "?" in url else url
        if (tail := path[path.rfind(".") + 1 :].lower()) not in last:
            return False
        return tail in extensions or path.lower().endswith(tuple(f".{each}" for each in extensions))

    return ends_so


is_no_page = with_extension(IGNORED_EXTENSIONS)
"""Tells whether a normalised URL leads to what is known to be no page."""
