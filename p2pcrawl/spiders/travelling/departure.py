"""A spider's departure to other machines: what goes with it, and what it and its settings are called from there on."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from p2pcrawl.model.crawl.job import SpiderRef
from p2pcrawl.spiders.boards.board_file import ENDING
from p2pcrawl.spiders.finding.objects import FILE
from p2pcrawl.spiders.loading.projects import closest_config
from p2pcrawl.spiders.travelling.bundle import pack_files
from p2pcrawl.spiders.travelling.gathering import Gathered, gather_project

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TravellingSpider:
    """A spider as other machines find it: in its project (``file``, ``packed``), as a file's text (``file``, ``code``),
    or installed there (``module``).
    """

    settings: dict[str, Any]
    file: str = ""
    packed: bytes = b""
    module: str = ""
    code: str = ""


def travelling_spider(ref: SpiderRef, settings: Mapping[str, Any]) -> TravellingSpider:
    """Gathers what goes with a spider. Raises ConfigurationError, one line, for more than can travel."""
    if ref.file.endswith(ENDING):
        return TravellingSpider(dict(settings), Path(ref.file).name, code=Path(ref.file).read_text(encoding="utf-8"))
    file = Path(ref.file) if ref.file else _of_project(ref.module)
    if file is None:
        return TravellingSpider(dict(settings), module=ref.module)
    gathered = gather_project(file)
    if gathered.left_out:
        names = ", ".join(gathered.left_out[:5])
        log.warning("left here, for they may be secrets: %s", names)
    travelling = TravellingSpider({}, gathered.entry, pack_files(gathered.files))
    return replace(travelling, settings={name: _renamed(value, gathered) for name, value in settings.items()})


def _of_project(module: str) -> Path | None:
    """Returns the file of a module that is part of a project in Scrapy's form, and so is installed nowhere else."""
    found = sys.modules.get(module) if module else None
    place = getattr(found, "__file__", None)
    return Path(place) if place and closest_config(Path(place).parent) is not None else None


def _renamed(value: Any, gathered: Gathered) -> Any:
    """Returns a setting in which classes that were named by their files are named by their modules."""
    if isinstance(value, Mapping):
        return {_renamed(key, gathered): _renamed(each, gathered) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(each, gathered) for each in value]
    found = FILE.match(value) if isinstance(value, str) else None
    if found is None or not found[2]:
        return value
    file = Path(found[1]).expanduser().absolute()
    if not file.resolve().is_relative_to(gathered.root):
        return value
    name = file.resolve().relative_to(gathered.root).as_posix()
    return f"{name}:{found[2]}" if name in gathered.files else value
