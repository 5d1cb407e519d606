"""The names that people give to policies, folders and stores of the HTTP cache."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import PurePath

from p2pcrawl.model.errors import ConfigurationError


class CachePolicy(StrEnum):
    """The way in which the HTTP cache decides. Scrapy's paths name them, too."""

    DUMMY = "dummy"
    """All that was answered once is the answer for ever."""
    RFC9111 = "rfc9111"
    """As browsers do, by what the host says."""

    @classmethod
    def _missing_(cls, value: object) -> CachePolicy | None:
        name = str(value).lower().rpartition(".")[2].removesuffix("policy").replace(" ", "").replace("-", "")
        return _NAMES.get(name) if "." not in str(value) or str(value).lower().startswith(_ROOTS) else None


_ROOTS = ("scrapy.extensions.httpcache.", "p2pcrawl.extensions.httpcache.", "scrapy.contrib.httpcache.")
_NAMES = {"dummy": CachePolicy.DUMMY, "rfc9111": CachePolicy.RFC9111, "rfc2616": CachePolicy.RFC9111}

_IS_PATH = re.compile(r"[^\n]+[.:][^\W\d]\w*\Z").match
_STORES = ("filesystemcachestorage", "dbmcachestorage")


def cache_policy_named(value: object) -> CachePolicy | str:
    """Returns the policy that people name; the path of a class of their own as it is. Raises ConfigurationError."""
    try:
        return CachePolicy(str(value))
    except ValueError:
        path = str(value)
    if path.lower().startswith(_ROOTS) or not _IS_PATH(path):
        raise ConfigurationError(
            f"setting HTTPCACHE_POLICY is one of {', '.join(CachePolicy)}, or names a class of your own, as "
            f"package.module.Class, not {path!r:.200}"
        )
    return path


def check_cache(folder: str, storage: str) -> None:
    """Raises ConfigurationError for a folder that would be outside of the user's own, and for a store that is not ours
    to use.
    """
    path = PurePath(folder)
    if not folder.strip() or (not path.is_absolute() and ".." in path.parts):
        raise ConfigurationError(f"HTTPCACHE_DIR is a folder, as a whole path or by a name, not {folder!r}")
    name = storage.lower()
    if storage and not (name.startswith(_ROOTS) and name.rpartition(".")[2] in _STORES):
        raise ConfigurationError(
            f"HTTPCACHE_STORAGE {storage!r} cannot be used: answers are in a file of our own in HTTPCACHE_DIR; leave "
            "the setting out, or keep them yourself in a downloader middleware"
        )
