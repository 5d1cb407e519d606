"""Spiders that are run as they are: those of a project in Scrapy's form, or of a file that imports scrapy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.aids.class_search import iter_spider_classes
from p2pcrawl.spiders.finding.answered_names import install_scrapy_names
from p2pcrawl.spiders.finding.modules import import_file
from p2pcrawl.spiders.loading.projects import closest_config, open_project
from p2pcrawl.spiders.spider import Spider

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


def _of_file(file: Path, names: Sequence[str]) -> list[Chosen]:
    if not names:
        return [str(file)]
    classes = list(iter_spider_classes(import_file(file)))
    known = {cls.__qualname__: cls for cls in classes} | {cls.name: cls for cls in classes}
    if missing := [name for name in names if name not in known]:
        there = ", ".join(sorted({cls.name for cls in classes})) or "no spider at all"
        raise ConfigurationError(f"there is no spider {missing[0]!r} in {file}; it has {there}")
    return [known[name] for name in names]
