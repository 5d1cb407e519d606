"""Projects in Scrapy's form: ``scrapy.cfg``, the settings that it names, and the spiders by their names.

A project's folder comes on the path as any folder of a user's does: last. Its spiders are imported one by one, those
first whose files hold the name that is looked for: among thousands of spiders the others need not even work.
"""

from __future__ import annotations

import logging
import os
import pkgutil
from collections.abc import Iterator
from configparser import ConfigParser, Error
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.aids.class_search import iter_spider_classes
from p2pcrawl.spiders.finding.modules import add_folders, import_module
from p2pcrawl.spiders.spider import Spider

log = logging.getLogger(__name__)

CONFIG = "scrapy.cfg"
PROJECT_VARIABLE = "SCRAPY_PROJECT"
"""Names the row of ``scrapy.cfg`` that is meant, if it is not ``default``."""
SETTINGS_VARIABLE = "SCRAPY_SETTINGS_MODULE"
"""Names the module of settings, whatever ``scrapy.cfg`` says; slaves get it from whoever started them."""
JOB_SETTINGS: ContextVar[Settings | None] = ContextVar("JOB_SETTINGS", default=None)
"""Of the job whose project has come from another machine, while its code runs."""


@dataclass(frozen=True, slots=True)
class ScrapyProject:
    """A project with its settings, which rank as a project's. ``folder``: of ``scrapy.cfg``."""

    folder: Path
    settings: RankedSettings

    def spider(self, name: str) -> type[Spider]:
        """Returns the spider of that name. Raises ConfigurationError where there is none, naming those that there are,
        and those modules that cannot be imported.
        """
        found: list[type[Spider]] = []
        others: dict[str, type[Spider]] = {}
        broken: list[str] = []
        for likely in (True, False):
            for cls in self._spiders([each for each in self._modules(name) if each[1] == likely], broken):
                others[cls.name] = cls
                found += [cls] if cls.name == name else []
            if found:
                break
        if not found:
            raise ConfigurationError(self._nothing(name, sorted(others), broken))
        if len(found) > 1:
            places = " and ".join(f"{cls.__module__}:{cls.__qualname__}" for cls in found)
            log.warning("several spiders are called %s: %s; the last one is run", name, places)
        return found[-1]

    def spiders(self) -> dict[str, type[Spider]]:
        """Returns all spiders by their names, and warns of modules that cannot be imported."""
        broken: list[str] = []
        found = {cls.name: cls for cls in self._spiders(list(self._modules("")), broken)}
        for line in broken:
            log.warning("%s", line)
        return found

    def _spiders(self, modules: list[tuple[str, bool]], broken: list[str]) -> Iterator[type[Spider]]:
        for module, _ in modules:
            try:
                imported = import_module(module)
            except ConfigurationError as error:
                broken.append(str(error))
                continue
            yield from iter_spider_classes(imported)

    def _modules(self, name: str) -> Iterator[tuple[str, bool]]:
        """Yields the modules that may hold spiders, and whether ``name`` stands in them."""
        places = self.settings.getlist("SPIDER_MODULES") or self.settings.getlist("NEWSPIDER_MODULE")
        if not places:
            raise ConfigurationError(f"the settings of {self.folder} name no SPIDER_MODULES")
        for place in places:
            package = import_module(place)
            yield place, _names(Path(package.__file__ or ""), name)
            for each in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{place}.", onerror=lambda _: None):
                spec = each.module_finder.find_spec(each.name, None)
                yield each.name, _names(Path(spec.origin or "") if spec is not None else Path(), name)

    def _nothing(self, name: str, others: list[str], broken: list[str]) -> str:
        told = f"there is no spider {name!r} in {self.folder}; it has {', '.join(others[:20]) or 'none'}"
        told += f" and {len(others) - 20} more" if len(others) > 20 else ""
        return f"{told}; {broken[0]}" if broken else told


def open_project(place: Path) -> ScrapyProject:
    """Returns the project that a folder is in, with its settings. Raises ConfigurationError where there is none, or its
    settings cannot be read.
    """
    config = closest_config(place)
    if config is None:
        raise ConfigurationError(
            f"there is no {CONFIG} in {place} or above it: name the folder of a project, or a spider's .py file"
        )
    parser = ConfigParser()
    try:
        parser.read(config, encoding="utf-8")
        module = parser.get("settings", os.environ.get(PROJECT_VARIABLE, "default"))
    except Error as error:
        raise ConfigurationError(f"{config} does not name the module of settings: {error.message}") from error
    add_folders(config.parent)
    os.environ.setdefault(SETTINGS_VARIABLE, module)
    try:
        return ScrapyProject(config.parent, project_settings())
    except ConfigurationError as error:
        raise ConfigurationError(f"the settings that {config} names: {error}") from error


def project_settings(place: Path | None = None) -> RankedSettings:
    """Returns the settings of the project that this process works for, else of the one that ``place`` (the current
    folder) is in; without any, the defaults. For a project that has come from another machine they are those of its
    job.
    """
    if (of_job := JOB_SETTINGS.get()) is not None:
        return RankedSettings(of_job.chosen(), known=Settings())
    module = os.environ.get(SETTINGS_VARIABLE)
    if module is None:
        here = place or Path.cwd()
        return open_project(here).settings if closest_config(here) is not None else RankedSettings(known=Settings())
    settings = RankedSettings(known=Settings())
    settings.setmodule(import_module(module))
    return settings


def closest_config(place: Path) -> Path | None:
    """Returns the ``scrapy.cfg`` of a folder or of the next one above it that has one."""
    folder = place.expanduser().resolve()
    return next((each / CONFIG for each in (folder, *folder.parents) if (each / CONFIG).is_file()), None)


def closest_scrapy_cfg(path: str | os.PathLike[str] = ".", prevpath: str | os.PathLike[str] | None = None) -> str:
    """Returns the path that :func:`closest_config` finds; "" where it finds none. ``prevpath`` has no use."""
    return str(closest_config(Path(path)) or "")


def inside_project() -> bool:
    """Tells whether there is a project: one that this process works for, or one that the current folder is in."""
    return SETTINGS_VARIABLE in os.environ or closest_config(Path.cwd()) is not None


def _names(file: Path, name: str) -> bool:
    """Tells whether a text stands in a file in quotes."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace") if name else ""
    except OSError:
        return False
    return f'"{name}"' in text or f"'{name}'" in text
