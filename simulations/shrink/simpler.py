"""Simpler runs: each with one unusual thing less."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import partial
from typing import Any

from ..kernel.paths import Law
from ..play.options import Options
from ..world.web import ODD, WebPlan
from .case import Case

OPTIONS = ("key", "ring", "placement", "delay_s")
WEB = (*ODD, "private", "texts", "tagged", "listed", "hot")
_USUAL = Options(), WebPlan(), Law()


def simpler(case: Case) -> Iterator[Callable[[Case], Case]]:
    """Yields what makes a case simpler, each for itself."""
    options, web, law = _USUAL
    if case.own:
        return
    odd = {name: getattr(web, name) for name in WEB if getattr(case.web, name) != getattr(web, name)}
    if len(odd) > 1:
        yield partial(_of_web, change=odd)
    for name, value in odd.items():
        yield partial(_of_web, change={name: value})
    if any(getattr(case.law, each.name) != getattr(law, each.name) for each in fields(law)):
        yield lambda case: replace(case, law=law)
    if len(set(case.weights)) > 1:
        yield lambda case: replace(case, weights=(1,))
    for name in OPTIONS:
        if getattr(case.options, name) != getattr(options, name):
            yield partial(_of_options, change={name: getattr(options, name)})


def _of_web(case: Case, *, change: dict[str, Any]) -> Case:
    return replace(case, web=replace(case.web, **change))


def _of_options(case: Case, *, change: dict[str, Any]) -> Case:
    return case.smaller(**change)
