"""Spiders that are run as they are: those of a project in Scrapy's form, or of a file that imports scrapy."""

from __future__ import annotations

import ast
import runpy
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.aids.class_search import iter_spider_classes
from p2pcrawl.spiders.finding.answered_names import install_scrapy_names, missing_line, missing_name
from p2pcrawl.spiders.finding.modules import add_folders, import_file, wanted_at
from p2pcrawl.spiders.loading.projects import closest_config, open_project
from p2pcrawl.spiders.spider import Spider

_BEGINNINGS: Final = frozenset(
    {"scrapy.cmdline", "p2pcrawl.cmdline"}
    | {
        f"{package}.crawler.{name}"
        for package in ("scrapy", "p2pcrawl")
        for name in ("AsyncCrawlerProcess", "AsyncCrawlerRunner", "CrawlerProcess", "CrawlerRunner")
    }
)
"""What scripts import to begin crawls."""

Chosen = type[Spider] | str


def chosen_spiders(place: Path, names: Sequence[str], typed: Mapping[str, Any]) -> tuple[list[Chosen], RankedSettings]:
    """Returns the spiders of a project that are named so, and its settings with those typed over them.

    ``place``: the project's folder, one in it, or a spider's file, which may be in a project. From here on this process
    and its slaves answer ``import scrapy``. Raises ConfigurationError for what cannot be found or imported.
    """
    install_scrapy_names()
    if place.is_dir():
        project = open_project(place)
        if not names:
            raise ConfigurationError(f"name a spider of {project.folder}: {', '.join(sorted(project.spiders()))}")
        chosen: list[Chosen] = [project.spider(name) for name in names]
        settings = project.settings
    else:
        inside = place.is_file() and closest_config(place.parent) is not None
        settings = open_project(place.parent).settings if inside else RankedSettings(known=Settings())
        chosen = _of_file(place, names)
    settings.setdict(typed, "cmdline")
    return chosen, settings


def is_script(file: Path) -> bool:
    """Tells whether a file begins crawls by itself: it imports what Scrapy has for that. Raises ConfigurationError for
    a file that cannot be read or parsed.
    """
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        raise ConfigurationError(f"{file} cannot be read as Python: {error}") from error
    wanted = {
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [f"{node.module}.{alias.name}" for alias in node.names] + [str(node.module)]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    return bool(wanted & _BEGINNINGS)


def run_as_main(file: Path) -> int:
    """Runs a script as ``python`` would, with Scrapy's names answered by ours, and returns its exit code.

    Raises ConfigurationError, one line, for a name that is missing and for whatever our part of it cannot do.
    """
    install_scrapy_names()
    if closest_config(file.parent) is not None:
        open_project(file.parent)
    add_folders(file.resolve().parent)
    sys.argv = [str(file)]
    try:
        runpy.run_path(str(file), run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except (ImportError, AttributeError) as error:
        if missing := missing_name(error):
            raise ConfigurationError(f"{wanted_at(error, str(file))}: {missing_line(missing)}") from error
        raise
    return 0


def _of_file(file: Path, names: Sequence[str]) -> list[Chosen]:
    if not names:
        return [str(file)]
    classes = list(iter_spider_classes(import_file(file)))
    known = {cls.__qualname__: cls for cls in classes} | {cls.name: cls for cls in classes}
    if missing := [name for name in names if name not in known]:
        there = ", ".join(sorted({cls.name for cls in classes})) or "no spider at all"
        raise ConfigurationError(f"there is no spider {missing[0]!r} in {file}; it has {there}")
    return [known[name] for name in names]
