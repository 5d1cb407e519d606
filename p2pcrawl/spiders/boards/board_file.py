"""Reading a board: from TOML to its parts, with each mistake told by its line and what was probably meant."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, get_args, get_origin

import jmespath
import msgspec
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions
from parsel import Selector
from parsel.csstranslator import HTMLTranslator

from p2pcrawl.model.crawl.domains import read_domains
from p2pcrawl.model.crawl.settings import Settings, check_typed
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.boards.board import Board, BoardField
from p2pcrawl.spiders.boards.board_lines import key_line
from p2pcrawl.spiders.boards.jumps import Jumps
from p2pcrawl.spiders.boards.processors import PROCESSORS
from p2pcrawl.spiders.page.typed_urls import checked_url

ENDING: Final = ".toml"
SIZE_MAX: Final = 1 << 20
_deep_key = re.compile(r"""(?<![\w."'-])(?:[\w"'-]+[ \t]*\.[ \t]*){100}""").search
"""A key of so many parts takes tomllib a time that goes with their square: a file of them, hours."""
_EMPTY: Final = Selector(text="<p></p>")
"""Knows the functions and namespaces of XPath that pages know."""
_unknown = re.compile(r"Object contains unknown field `(.*?)`").match
_place = re.compile(r" - at `(?:key in )?\$(.*?)`").search
_steps = re.compile(r"\.([\w-]+)|\[\.\.\.\]|\[(\d+)\]").finditer
_MISTAKES = (
    ConfigurationError, re.error, OverflowError, SyntaxError, RuntimeError, ValueError, JMESPathError
)  # fmt: skip
"""What patterns, selectors and queries that cannot be are refused with; an unknown pseudo-class with RuntimeError."""


PLACES: Final[Mapping[str, Sequence[str]]] = {
    "DEPTH_LIMIT": ("depth",),
    "CLOSESPIDER_PAGECOUNT": ("limits", "pages"),
    "CLOSESPIDER_ITEMCOUNT": ("limits", "items"),
    "CLOSESPIDER_TIMEOUT": ("limits", "seconds"),
    "CLOSESPIDER_ERRORCOUNT": ("limits", "errors"),
    "DOWNLOAD_DELAY": ("speed", "delay"),
    "CONCURRENT_REQUESTS_PER_DOMAIN": ("speed", "per_host"),
    "CONCURRENT_REQUESTS": ("speed", "requests"),
    "AUTOTHROTTLE_ENABLED": ("speed", "autothrottle"),
    "REVISIT_INDEX": ("revisit", "navigation"),
    "REVISIT_DETAIL": ("revisit", "articles"),
    "REVISIT_MIN": ("revisit", "min"),
    "REVISIT_MAX": ("revisit", "max"),
    "REVISIT_HOST_BUDGET": ("revisit", "host_budget"),
    "REVISIT_ROUNDS": ("revisit", "rounds"),
    "DUPLICATES": ("duplicates", "then"),
    "DUPLICATES_NEAR": ("duplicates", "near"),
    "DUPLICATES_FIELD": ("duplicates", "field"),
}
"""Where a board says settings that it has words of its own for."""


class _BoardMistake(Exception):
    """A mistake at ``path`` of a board."""

    def __init__(self, path: Sequence[str], what: str) -> None:
        super().__init__(what)
        self.path = path


def load_board(path: str) -> Board:
    """Reads a board's file. Raises ConfigurationError, naming the line, for what cannot be."""
    return read_board(board_text(path), path)


def board_text(path: str) -> str:
    """Returns the text of a board's file. Raises ConfigurationError where it cannot be read."""
    try:
        # Some editors put a byte-order mark first.
        return Path(path).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigurationError(f"board {path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def read_board(text: str, path: str) -> Board:
    """Reads a board from the text of its file. Raises ConfigurationError, naming the line, for what cannot be."""
    if len(text) > SIZE_MAX:
        raise ConfigurationError(f"board {path} has more than {SIZE_MAX:,} characters")
    try:
        if _deep_key(text):
            raise RecursionError
        data = tomllib.loads(text)
    except RecursionError:
        raise ConfigurationError(f"board {path} has too much within each other") from None
    except ValueError as error:
        # Not of TOML alone: a number may be longer than Python reads.
        raise ConfigurationError(f"board {path}: {str(error).partition(';')[0]}") from None
    try:
        board = _converted(data)
        _check(board)
    except _BoardMistake as error:
        raise ConfigurationError(f"board {path}, line {key_line(text, error.path)}: {error}") from None
    name = board.name or Path(path).name.removesuffix(ENDING)
    return msgspec.structs.replace(board, name=name)


def _converted(data: dict[str, Any]) -> Board:
    try:
        return msgspec.convert(data, Board)
    except msgspec.ValidationError as error:
        told = str(error)
        place = _place(told)
        path = _path(data, place[1] if place is not None else "")
        if (unknown := _unknown(told)) is not None:
            raise _BoardMistake([*path, unknown[1]], _no_key(unknown[1], _known_at(path), path)) from None
        where = f"{'.'.join(path)}: " if path else ""
        what = told.partition(" - at")[0]
        choices = [repr(each) for each in _known_at(path) if each] if what.startswith("Invalid enum value") else []
        there_are = f"; there are {', '.join(choices)}" if choices else ""
        raise _BoardMistake(path, where + what[:1].lower() + what[1:] + there_are) from None


def _path(data: Any, place: str) -> list[str]:
    """Returns the keys of a place as msgspec writes it, which says ``[...]`` for any key of a mapping."""
    path: list[str] = []
    for step in _steps(place):
        if step[1]:
            path.append(step[1])
            data = data.get(step[1]) if isinstance(data, dict) else None
        elif isinstance(data, dict):
            name = next((key for key, value in data.items() if _is_wrong(value)), next(iter(data), ""))
            path.append(name)
            data = data.get(name)
    return path


def _is_wrong(value: Any) -> bool:
    """Tells whether this is the field that could not be read."""
    try:
        msgspec.convert(value, str | BoardField)
    except msgspec.ValidationError:
        return True
    return False


def _known_at(path: Sequence[str]) -> Sequence[str]:
    """Returns the keys that a place in a board may have."""
    kind: Any = Board
    for step in path:
        if get_origin(kind) is dict:
            kind = BoardField
            continue
        fields = {each.encode_name: each.type for each in msgspec.structs.fields(kind)}
        kind = fields.get(step, Board)
    return (
        [each.encode_name for each in msgspec.structs.fields(kind)]
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
        else [each for part in (kind, *get_args(kind)) for each in get_args(part) if isinstance(each, str)]
    )


def _no_key(name: str, known: Sequence[str], path: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    return f"{'.'.join(path) or 'a board'} has no key {name!r}; {hint}"


def _check(board: Board) -> None:
    """Looks at what the types do not say. Raises _BoardMistake."""
    if not board.entries:
        raise _BoardMistake(["entries"], "entries: a board needs at least one URL to begin with")
    for entry in board.entries:
        _tried(["entries"], lambda entry=entry: checked_url(entry))
    for domain in board.domains:
        _tried(["domains"], lambda domain=domain: _check_domain(domain))
    if not board.name.isprintable():
        raise _BoardMistake(["name"], f"name: {board.name!r} has characters that cannot be shown")
    for table, choice in (("follow", board.follow), ("articles", board.articles)):
        for key in ("allow", "deny"):
            for pattern in getattr(choice, key):
                _tried([table, key], lambda pattern=pattern: re.compile(pattern))
        for query in choice.css:
            _tried([table, "css"], lambda query=query: HTMLTranslator().css_to_xpath(query))
        for query in choice.xpath:
            _tried([table, "xpath"], lambda query=query: _EMPTY.xpath(query))
    for name, field in board.fields.items():
        _check_field(["fields", name], as_field(field))
    if (board.duplicates.near or board.duplicates.field) and not board.duplicates.then:
        raise _BoardMistake(["duplicates"], 'duplicates: say what becomes of them, then = "mark" or "drop"')
    _tried(["jumps"], lambda: Jumps(board.jumps))
    _check_places(board)
    for name, value in board.settings.items():
        _tried(["settings", name], lambda name=name: check_typed([name], "the board"))
        _tried(["settings", name], lambda name=name, value=value: Settings().updated({name: value}))


def _check_places(board: Board) -> None:
    """Raises _BoardMistake for what settings cannot be that a board has words of its own for: at the first that cannot
    be with those before it.
    """
    said = {name: value for name, place in PLACES.items() if (value := _value_at(board, place))}
    try:
        Settings().updated({**said, **board.settings})
    except _MISTAKES:
        for count, name in enumerate(said, 1):
            _tried(PLACES[name], lambda count=count: Settings().updated(dict(list(said.items())[:count])))


def _check_domain(domain: str) -> None:
    """Raises ConfigurationError for what is no plain host: nothing would be within it."""
    hosts, complaints = read_domains([domain])
    if complaints:
        hint = f"; write {hosts[0]}" if hosts else ""
        raise ConfigurationError(f"{domain[:200]!r} is no host{hint}")


def _check_field(path: list[str], field: BoardField) -> None:
    given = [key for key in ("css", "xpath", "jmespath", "value") if getattr(field, key) not in ("", None)]
    if len(given) != 1:
        raise _BoardMistake(path, f"{'.'.join(path)}: give one of css, xpath, jmespath and value")
    if field.of != "page" and not field.jmespath:
        raise _BoardMistake([*path, "of"], f"{'.'.join(path)}: of = {field.of!r} is for jmespath")
    if field.css:
        _tried([*path, "css"], lambda: HTMLTranslator().css_to_xpath(field.css))
    if field.xpath:
        _tried([*path, "xpath"], lambda: _EMPTY.xpath(field.xpath))
    if field.jmespath:
        _tried([*path, "jmespath"], lambda: _check_query(jmespath.compile(field.jmespath).parsed))
    if field.re:
        _tried([*path, "re"], lambda: re.compile(field.re))
    for name in field.process:
        if name not in PROCESSORS:
            raise _BoardMistake([*path, "process"], _no_key(name, list(PROCESSORS), path).replace("key", "processor"))
    if field.many and field.join is not None:
        raise _BoardMistake(path, f"{'.'.join(path)}: join makes one text of all that is found, and many a list")


def _check_query(node: Any) -> None:
    """Raises ConfigurationError for a part of a query of JSON that calls a function that there is not."""
    if node.get("type") == "function_expression" and node["value"] not in Functions.FUNCTION_TABLE:
        raise ConfigurationError(f"there is no function {node['value']}()")
    for child in node.get("children", ()):
        if isinstance(child, dict):
            _check_query(child)


def _tried(path: Sequence[str], attempt: Any) -> None:
    try:
        attempt()
    except RecursionError:
        raise _BoardMistake(path, f"{'.'.join(path)}: too much within each other") from None
    except _MISTAKES as error:
        raise _BoardMistake(path, f"{'.'.join(path)}: {str(error).splitlines()[0]}") from None


def as_field(field: str | BoardField) -> BoardField:
    """Returns a field that is written as a selector alone in its whole form."""
    if isinstance(field, BoardField):
        return field
    is_path = field.startswith(("/", "./", "("))
    return BoardField(xpath=field, process=["collapse"]) if is_path else BoardField(css=field, process=["collapse"])


def board_settings(board: Board) -> dict[str, Any]:
    """Returns the settings that a board says, under their upper-case names."""
    said = {name: _value_at(board, place) for name, place in PLACES.items()}
    said["FEEDS"] = _feeds(board.output)
    return {name: value for name, value in said.items() if value} | _zero_delay(board) | board.settings


def _value_at(board: Board, place: Sequence[str]) -> Any:
    value: Any = board
    for key in place:
        value = getattr(value, key)
    return value


def _zero_delay(board: Board) -> dict[str, Any]:
    return {"DOWNLOAD_DELAY": 0.0} if board.speed.delay == 0 else {}


def _feeds(outputs: Iterable[str]) -> dict[str, Any]:
    return {output: {} for output in outputs}
