"""The settings of one crawl, chosen from what was typed, the spider, the project, and the defaults, in this order."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Set
from operator import itemgetter
from os import PathLike, fspath
from types import FunctionType
from typing import Any, Final, cast

from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.crawl.settings import Settings, check_names, field_of, is_ours
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.finding.objects import path_of
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.hooks.making import make_component, make_spider, taking_part
from p2pcrawl.spiders.spider import Spider

log = logging.getLogger(__name__)

ATTRIBUTES: Final[Mapping[str, str]] = {
    "download_delay": "DOWNLOAD_DELAY",
    "max_concurrent_requests": "CONCURRENT_REQUESTS_PER_DOMAIN",
    "download_maxsize": "DOWNLOAD_MAXSIZE",
    "download_timeout": "DOWNLOAD_TIMEOUT",
    "http_auth_domain": "HTTP_AUTH_DOMAIN",
    "http_pass": "HTTP_PASS",  # nosec B105  # The name of a setting.
    "http_user": "HTTP_USER",
    "user_agent": "USER_AGENT",
}
"""Attributes of spiders that stand for settings."""
PACE: Final = ("download_delay", "max_concurrent_requests")
"""Those that masters keep to, who see no spider that was made."""
LISTED: Final = frozenset({"downloader_middlewares", "extensions", "item_pipelines", "spider_middlewares"})
"""Components by their order, which old projects write as lists."""


def merged_settings(
    base: Settings | RankedSettings, cls: type[Spider], typed: Mapping[str, Any] | None = None
) -> Settings:
    """Returns ``base`` with what the spider's class says over it, in ``custom_settings``, ``update_settings`` or its
    attributes, and what was typed over all. Raises ConfigurationError for a name or a value that cannot be.
    """
    source = f"custom_settings of spider {cls.name}"
    if cls.custom_settings is not None and not isinstance(cls.custom_settings, Mapping):
        raise ConfigurationError(f"{source} must be a dict, not {type(cls.custom_settings).__name__}")
    start = Settings() if isinstance(base, RankedSettings) else base
    ranked = RankedSettings(base if isinstance(base, RankedSettings) else None, known=start)
    ranked.setdict(typed, "cmdline")
    cls.update_settings(ranked)
    ranked.setdict(_attributes(vars_of(cls)), "spider")
    check_names(cls.custom_settings or (), source)
    _add_on(ranked, start, cls)
    return start.updated(_portable_values(ranked))


def spider_of(cls: type[Spider], handle: CrawlHandle, arguments: Mapping[str, Any]) -> Spider:
    """Makes the spider of a crawl. What it sets in the settings meanwhile, as its ``from_crawler`` may, counts for the
    handle from then on. Raises what making it raises.
    """
    given = handle.settings
    draft = SettingsDraft(known=given)
    handle.settings = cast(Settings, draft)
    try:
        spider: Spider = make_spider(cls, handle, arguments)
    finally:
        handle.settings = given
    if len(draft):
        handle.settings = given.updated(_portable_values(draft), f"the settings of spider {cls.name}")
    spider.settings = handle.settings
    return spider


class SettingsDraft(RankedSettings):
    """Settings as a spider sees them that is being made: it may set some, and reads all of them by either name."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__.get("_known"), name)


def _add_on(ranked: RankedSettings, start: Settings, cls: type[Spider]) -> None:
    """Lets add-ons change the settings, in their order. Raises ConfigurationError for one that cannot be made."""
    handle = CrawlHandle(start, cls)
    for addon, _ in sorted(
        ((path, order) for path, order in ranked.getdict("ADDONS").items() if order is not None), key=itemgetter(1)
    ):
        name = addon if isinstance(addon, str) else addon.__qualname__
        with taking_part(f"add-on {name}"):
            make_component(addon, handle).update_settings(ranked)


def spiders_say(settings: Settings, spider: Spider) -> Settings:
    """Returns the settings with what a spider that was made says by its attributes, but for the pace.

    A spider may set them from its arguments; where only its class has them, they are in the settings already.
    """
    said = {name: value for name, value in vars(spider).items() if name not in PACE}
    return settings.updated(_attributes(said), f"the attributes of spider {spider.name}")


def pace_of(settings: Settings, spider: Spider) -> Settings:
    """Returns the settings with the pace that a spider that was made says by its attributes.

    It may set it from its arguments. Masters keep to it, and see no spider: so one that was tried tells it beforehand.
    """
    said = {name: value for name, value in vars(spider).items() if name in PACE}
    return settings.updated(_attributes(said), f"the attributes of spider {spider.name}")


def _portable_values(ranked: RankedSettings) -> dict[str, Any]:
    values = {}
    for _, name, value in ranked.ranked():
        try:
            values[name] = value if name.lower() == "feeds" else portable(name, value)
        except TypeError as error:
            log.warning("setting %s is left out: it holds %s, which cannot travel to other processes", name, error)
    return values


def portable(name: str, value: Any) -> Any:
    """Returns a setting's value as plain data: classes and functions as the text that they are found by. Raises
    TypeError, naming its kind, for what has no such form.
    """
    if field_of(name) in LISTED and isinstance(value, str):
        value = _from_text(name, value)
    if is_ours(name) and not isinstance(value, Mapping | list | tuple | Set | type):
        return value
    made = _plain(value)
    if field_of(name) in LISTED and isinstance(made, list):
        made = _by_position(name, sorted(made) if isinstance(value, Set) else made)
    if field_of(name) == "item_pipelines" and isinstance(made, dict):
        return {path: order for path, order in made.items() if order is not None}
    return made


def _from_text(name: str, text: str) -> Any:
    """Returns the components that a text names in JSON: those of a mapping or of a list. Raises ConfigurationError."""
    try:
        made = json.loads(text or "{}")
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"setting {name} is JSON in text, a mapping or a list: {error}") from None
    if not isinstance(made, Mapping | list):
        raise ConfigurationError(f"setting {name} is a mapping or a list in JSON, not {text:.80}")
    return made


def _by_position(name: str, paths: list[Any]) -> dict[Any, int]:
    """Returns a list of components as the mapping from each to its position, and says so."""
    order = {path: position for position, path in enumerate(paths)}
    log.warning("setting %s is a list: its components stand in that order; write %s", name, order)
    return order


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, type | FunctionType):
        try:
            return path_of(value)
        except ConfigurationError:
            raise TypeError("a lambda" if value.__name__ == "<lambda>" else value.__qualname__) from None
    if isinstance(value, Mapping):
        return {_plain(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | Set):
        return [_plain(each) for each in value]
    if isinstance(value, PathLike):
        return fspath(value)
    raise TypeError(f"a {type(value).__name__}")


def vars_of(cls: type[Spider]) -> dict[str, Any]:
    """Returns the attributes of a spider's class and its bases."""
    return {name: getattr(cls, name, None) for name in ATTRIBUTES}


def _attributes(said: Mapping[str, Any]) -> dict[str, Any]:
    return {ATTRIBUTES[n]: v for n, v in said.items() if n in ATTRIBUTES and isinstance(v, str | int | float)}
