"""Cookies of a request, in the two forms that people write: ``{name: value}`` and a list of them with their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from p2pcrawl.model.errors import BadRequest

CookiesLike = Mapping[Any, Any] | Iterable[Mapping[str, Any]]
RequestCookies = dict[str, str] | list[dict[str, Any]]


def checked_cookies(cookies: CookiesLike | None) -> RequestCookies:
    """Returns cookies as plain text: a dict as a dict, a list as a list of dicts with name and value, and with domain,
    path and secure where they are given.

    Raises BadRequest for a cookie without a name or a value, and TypeError for what is none.
    """
    if not cookies:
        return {}
    if isinstance(cookies, Mapping):
        return {_text(name, "name", name): _text(name, "value", value) for name, value in cookies.items()}
    if isinstance(cookies, str | bytes) or not isinstance(cookies, Iterable):
        raise TypeError(f"cookies are a dict or a list of dicts, not {type(cookies).__name__}")
    return [_placed(cookie) for cookie in cookies]


def _placed(cookie: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(cookie, Mapping):
        raise TypeError(f"a cookie of a list is a dict with name and value, not {type(cookie).__name__}")
    named = cookie.get("name")
    if named is None:
        raise BadRequest(f"a cookie of a list needs a name and a value: {dict(cookie)!r:.200}")
    placed: dict[str, Any] = {part: _text(named, part, cookie.get(part)) for part in ("name", "value")}
    for part in ("domain", "path"):
        if cookie.get(part):
            placed[part] = _text(named, part, cookie[part])
    if cookie.get("secure") is not None:
        placed["secure"] = bool(cookie["secure"])
    return placed


def _text(cookie: object, part: str, value: object) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.decode("latin-1")
    if isinstance(value, int | float):
        return str(value)
    if value is None:
        raise BadRequest(f"cookie {_shown(cookie)} has no {part}")
    raise TypeError(f"the {part} of cookie {_shown(cookie)} is text, not {type(value).__name__}")


def _shown(cookie: object) -> str:
    return repr(cookie)[:80]
