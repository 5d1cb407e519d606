"""The address of a sink, as typed after ``-o``: what it names, its options, and its password kept apart.

``mongodb://ada@db.example/shop.books?mode=history&batch=500`` is a scheme, a place and options. The password may stand
in the address, in the environment or in a file; wherever the address is shown or stored afterwards, it has none.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.private.secrets import read_secret

PASSWORD_VARIABLE = "P2PCRAWL_SINK_PASSWORD"  # nosec B105  # The name of a variable.
PASSWORD_BYTES_MAX = 64 * 1024
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_USER = re.compile(r"([^/?#@:]*)(?::([^/?#]*))?@")
_HALF_PASSWORD = re.compile(r"(?!\[)[^/?#@:]*:(?!\d{1,5}(?:[,/?#]|$))[^/?#@]*[/?#].*@")
"""A user and something that is no port, with an @ further on: a password that is cut by one of the marks."""


@dataclass(frozen=True, slots=True)
class SinkAddress:
    """A sink's address without its password, and the password. ``url`` may be shown; ``secret`` is never."""

    url: str
    """Without password and without our own options; a path for a file, ``-`` for standard output."""
    options: dict[str, str] = field(default_factory=dict)
    """Ours, taken out of the query (see OPTIONS); those of the destination stay in ``url``."""
    secret: str = field(default="", repr=False)

    @property
    def scheme(self) -> str:
        """The scheme in lower case; empty for a path."""
        return scheme_of(self.url)

    def with_secret(self) -> str:
        """Builds the address that a driver is given: with the password in its place."""
        if not self.secret:
            return self.url
        scheme, rest = self.url.split("://", 1)
        user, at, place = rest.partition("@")
        if not at:
            return self.url
        return f"{scheme}://{user}:{quote(self.secret, safe='')}@{place}"


OPTIONS = frozenset(
    {"mode", "batch", "batch_bytes", "linger", "fields", "where", "item", "password_env", "password_file", "driver"}
)
"""Options that every sink may have; a kind of sink names its own further ones to ``parse_sink``."""


def scheme_of(address: str) -> str:
    """Returns the scheme of an address in lower case; empty for a path."""
    found = _SCHEME.match(address)
    return found[1].lower() if found else ""


def parse_sink(typed: str, own: frozenset[str] = frozenset()) -> SinkAddress:
    """Reads an address as typed. Raises ConfigurationError, which never shows the password.

    A text without a scheme is a path, whatever it holds. ``own``: further options of this kind of sink.
    """
    found = _SCHEME.match(typed)
    if not found:
        return SinkAddress(typed)
    rest = typed[found.end() :]
    user, password = "", None
    if account := _USER.match(rest):
        user, password = account[1], account[2]
        rest = rest[account.end() :]
    elif _HALF_PASSWORD.match(rest):
        raise ConfigurationError(
            f"the password in the {found[1].lower()}:// address has one of / ? # in it: "
            "write these as %2F, %3F and %23, or keep it out of the address (password_env=NAME)"
        )
    place, _, query = rest.partition("?")
    options, kept = _split(query, OPTIONS | own)
    url = f"{found[1].lower()}://{user + '@' if user else ''}{place}{'?' + kept if kept else ''}"
    secret = unquote(password) if password is not None else _secret_elsewhere(url, user, options)
    return SinkAddress(url, options, secret)


def shows_password(url: str) -> bool:
    """Tells whether an address has a password in its place for one, where it would be shown and stored."""
    found = _SCHEME.match(url)
    account = _USER.match(url[found.end() :]) if found else None
    return account is not None and account[2] is not None


def _split(query: str, ours: frozenset[str]) -> tuple[dict[str, str], str]:
    options: dict[str, str] = {}
    kept = []
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        if name in ours:
            options[name] = unquote(value)
        else:
            kept.append(pair)
    return options, "&".join(kept)


def _secret_elsewhere(url: str, user: str, options: dict[str, str]) -> str:
    """Reads the password from where it is said to be; the options that say so stay here, for they say nothing to
    other machines.
    """
    if path := options.pop("password_file", ""):
        try:
            content = read_secret(Path(path), "password file", PASSWORD_BYTES_MAX, named=True)
        except OSError as error:
            raise ConfigurationError(f"the password for {url} cannot be read: {path}: {error.strerror}") from None
        return content.decode(errors="replace").rstrip("\r\n")
    if name := options.pop("password_env", ""):
        if name not in os.environ:
            raise ConfigurationError(f"the password for {url} is to be in the environment as {name}, which is not set")
        return os.environ[name]
    return os.environ.get(PASSWORD_VARIABLE, "") if user else ""
