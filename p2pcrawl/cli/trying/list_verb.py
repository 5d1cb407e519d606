"""The verbs ``list`` and ``settings``: the spiders of a project, and the settings that hold for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from p2pcrawl.cli.screen.terminal import show, show_json
from p2pcrawl.cli.trying.tried_spider import spiders_at
from p2pcrawl.model.crawl.settings import Settings, near_misses
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.loading.chosen import merged_settings


def run_list(target: str, *, as_json: bool) -> int:
    """Prints the names of the spiders in a project's folder or a file."""
    names = sorted(str(cls.name) for cls, _ in spiders_at(target, {}))
    if as_json:
        show_json(names)
    else:
        for name in names:
            show(name)
    return 0


def run_settings(target: str, wanted: str, typed: Mapping[str, str], *, as_json: bool) -> int:
    """Prints one setting, or all, as they hold for the first spider of ``target``, or without one by default."""
    if target:
        cls, base = spiders_at(target, typed)[0]
        settings = merged_settings(base, cls)
    else:
        settings = Settings().updated(typed)
    values = {each.name.upper(): getattr(settings, each.name) for each in fields(settings) if each.name != "own"}
    values |= settings.own
    if wanted:
        value = settings.get(wanted.upper(), _NONE)
        if value is _NONE:
            raise ConfigurationError(_unknown(wanted))
        values = {wanted.upper(): value}
    if as_json:
        show_json({name: _plain(value) for name, value in values.items()})
        return 0
    for name, value in sorted(values.items()):
        show(_told(value) if wanted else f"{name} = {_told(value)}")
    return 0


_NONE: Any = object()


def _unknown(name: str) -> str:
    near = [found for _, found in near_misses({name.upper(): None})]
    hint = f"; was {near[0]} meant?" if near else ""
    return f"there is no setting {name.upper()} here{hint}"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _told(value: Any) -> str:
    plain = _plain(value)
    return "" if plain is None else str(plain)
