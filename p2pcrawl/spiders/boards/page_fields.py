"""The values of a board's fields on one page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import jmespath

from p2pcrawl.spiders.boards.board import BoardField
from p2pcrawl.spiders.boards.processors import PROCESSORS
from p2pcrawl.spiders.page.response import Response


class Missing(Exception):
    """A field that a page needs is not there."""


def field_values(fields: Mapping[str, BoardField], response: Response) -> dict[str, Any]:
    """Returns the values of all fields. Raises Missing, naming the first field that is required and not there."""
    return {name: _value(name, field, response) for name, field in fields.items()}


def _value(name: str, field: BoardField, response: Response) -> Any:
    if field.value is not None:
        return field.value
    found = [each for each in _processed(field, response) if each is not None]
    if not found and field.required:
        raise Missing(name)
    if field.many:
        return found
    if field.join is not None:
        return field.join.join(map(str, found)) if found else field.default
    return found[0] if found else field.default


def _processed(field: BoardField, response: Response) -> list[Any]:
    values = _selected(field, response)
    if field.re:
        # The group if there is one, of each match in each value.
        values = [match[1 if match.re.groups else 0] for value in values for match in re.finditer(field.re, str(value))]
    made: list[Any] = []
    for value in values:
        try:
            for name in field.process:
                value = PROCESSORS[name](value, response.url)
        except ValueError:
            continue
        made.append(value)
    return made


def _selected(field: BoardField, response: Response) -> list[Any]:
    if field.css:
        return response.css(field.css).getall() if response.is_text else []
    if field.xpath:
        return response.xpath(field.xpath).getall() if response.is_text else []
    found = jmespath.search(field.jmespath, _data(field, response))
    return [] if found is None else found if isinstance(found, list) else [found]


def _data(field: BoardField, response: Response) -> Any:
    if field.of == "page":
        try:
            return response.json()
        except ValueError:
            return None
    stated = asdict(response.structured_data)
    return stated[field.of.replace("-", "_")]
