"""From what a user typed to a spider's class, and back to a reference that travels."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

from p2pcrawl.model.crawl.job import SpiderRef
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.boards.board_file import ENDING, load_board
from p2pcrawl.spiders.boards.board_spider import BoardSpider, board_class
from p2pcrawl.spiders.finding.modules import import_file, import_module, importing, main_file
from p2pcrawl.spiders.finding.objects import FILE, found_in
from p2pcrawl.spiders.loading.plain import Links
from p2pcrawl.spiders.page.typed_urls import checked_url, looks_like_domain
from p2pcrawl.spiders.spider import Spider

__all__ = ["importing", "load_spider", "parse_target", "reference_of"]

_MODULE = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d][\w.]*)\Z")
_WHAT = "a URL, a file (spider.py, spider.py:Class or a board's .toml) or module:Class"


def parse_target(text: str) -> SpiderRef:
    """Reads what to crawl: a URL, ``file.py[:Spider]``, ``module:Spider``, or a board's file.

    Code that is named is imported. Raises ConfigurationError, one line, for all that cannot work.
    """
    target = text.strip()
    if "://" in target or re.match(r"https?:", target, re.IGNORECASE):
        return SpiderRef(urls=(checked_url(target),))
    file = FILE.match(target)
    if file is not None:
        path, wanted = file[1], file[2] or ""
        return SpiderRef(
            file=str(Path(path).expanduser().absolute()), qualname=_choose(import_file(path), wanted, path)
        )
    if target.endswith(ENDING):
        load_board(target)
        return SpiderRef(file=str(Path(target).expanduser().absolute()))
    module = _MODULE.match(target)
    if module is not None:
        return SpiderRef(module=module[1], qualname=_choose(import_module(module[1]), module[2], module[1]))
    if target and Path(target).is_dir():
        raise ConfigurationError(f"{target} is a folder; name a spider's .py file in it")
    if looks_like_domain(target):
        raise ConfigurationError(f"{target!r} has no scheme; did you mean https://{target}?")
    raise ConfigurationError(f"{target!r} is not something to crawl: give {_WHAT}")


def load_spider(ref: SpiderRef) -> type[Spider]:
    """Returns the class, imported if need be. For plain URLs, the built-in one with these as its start URLs."""
    if ref.file.endswith(ENDING):
        return board_class(ref.file)
    if ref.file:
        return class_in(import_file(ref.file), ref.qualname, ref.file)
    if ref.module:
        return class_in(import_module(ref.module), ref.qualname, ref.module)
    if not ref.urls:
        raise ConfigurationError("nothing to crawl: no spider and no URL was given")
    return type("Links", (Links,), {"name": Links.name, "start_urls": list(ref.urls), "__module__": Links.__module__})


def reference_of(cls: type[Spider]) -> SpiderRef | None:
    """Returns where another process finds the class; None when it cannot (defined in a function or typed at a
    prompt).
    """
    if issubclass(cls, Links) and cls.__module__ == Links.__module__:
        return SpiderRef(urls=tuple(cls.start_urls))
    if issubclass(cls, BoardSpider) and cls is not BoardSpider:
        return SpiderRef(file=cls.board_file)
    if "<" in cls.__qualname__:
        return None
    module = sys.modules.get(cls.__module__)
    if module is None or found_in(module, cls.__qualname__) is not cls:
        return None
    file = getattr(module, "__file__", None)
    if cls.__module__ == "__main__":
        spec = getattr(module, "__spec__", None)
        if spec is not None:
            return SpiderRef(module=spec.name, qualname=cls.__qualname__)
        path = main_file()
        return SpiderRef(file=str(path), qualname=cls.__qualname__) if path is not None and path.is_file() else None
    if cls.__module__.startswith("p2pcrawl_user_") and file:
        return SpiderRef(file=str(file), qualname=cls.__qualname__)
    return SpiderRef(module=cls.__module__, qualname=cls.__qualname__)


def _choose(module: ModuleType, wanted: str, shown: str) -> str:
    if wanted:
        return class_in(module, wanted, shown).__qualname__
    spiders = _spiders_of(module)
    if not spiders:
        raise ConfigurationError(f"there is no spider in {shown}: define a class that inherits from p2pcrawl.Spider")
    if len(spiders) > 1:
        names = ", ".join(sorted(spiders))
        raise ConfigurationError(f"{shown} has several spiders ({names}): name one, as {shown}:{min(spiders)}")
    return next(iter(spiders))


def class_in(module: ModuleType, qualname: str, shown: str) -> type[Spider]:
    """Returns the spider that a module has under a name. Raises ConfigurationError, with what it has instead."""
    found = found_in(module, qualname)
    if found is None:
        names = ", ".join(sorted(_spiders_of(module))) or "no spider at all"
        raise ConfigurationError(f"there is no {qualname} in {shown}; it has {names}")
    if not (isinstance(found, type) and issubclass(found, Spider)):
        raise ConfigurationError(f"{qualname} in {shown} is not a spider: it must inherit from p2pcrawl.Spider")
    return found


def _spiders_of(module: ModuleType) -> dict[str, type[Spider]]:
    """Returns the spiders that the module itself defines; bases of others among them do not count."""
    own = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Spider) and value.__module__ == module.__name__
    ]
    return {cls.__qualname__: cls for cls in own if not any(cls in other.__mro__[1:] for other in own)}
