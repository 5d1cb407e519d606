"""The hosts that a spider means by its ``allowed_domains``, whatever is written there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from p2pcrawl.model.crawl.url import host_of

_plain = re.compile(r"\.?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?\Z|\[[0-9a-f:.]+\]\Z|[0-9a-f]*:[0-9a-f:.]*:[0-9a-f.]*\Z").match


def sites_of(urls: Iterable[str]) -> list[str]:
    """Returns the hosts of these URLs, each once, to stay within where nothing else is said: without "www.", since
    sites commonly send visitors from one form to the other.
    """
    return list(dict.fromkeys(host_of(url).removeprefix("www.") for url in urls))


def read_domains(given: Any) -> tuple[list[str], list[str]]:
    """Returns the hosts in lower case, each once, and a line for each entry that is no plain host name, of which the
    host is taken where it has one: a URL, one with a port or a path, ``*.name``, None.
    """
    hosts: dict[str, None] = {}
    complaints: list[str] = []
    for entry in _entries(given):
        if not isinstance(entry, str) or not entry.strip():
            complaints.append(f"{entry!r} in allowed_domains is no domain, and is left out")
            continue
        text = entry.strip().lower()
        if _plain(text) is not None:
            hosts.setdefault(text.strip("."))
            continue
        host = _host(text)
        if not host:
            complaints.append(f"{entry[:200]!r} in allowed_domains is no domain, and is left out")
            continue
        hosts.setdefault(host)
        if text.isascii():
            complaints.append(f"{entry[:200]!r} in allowed_domains is no plain domain: {host} is taken")
    return list(hosts), complaints


def is_within(host: str, domains: Collection[str]) -> bool:
    """Tells whether a host is one of these domains, or below one."""
    if host in domains or host.strip("[]") in domains:
        return True
    while "." in host:
        host = host.partition(".")[2]
        if host in domains:
            return True
    return False


def _entries(given: Any) -> Iterable[Any]:
    if given is None:
        return ()
    if isinstance(given, str):
        return [part for part in re.split(r"[\s,]+", given) if part]
    return given if isinstance(given, Iterable) else (given,)


def _host(text: str) -> str:
    host = host_of(text if "//" in text else f"//{text}").removeprefix("*.").strip(".")
    if not host.isascii():
        # As it stands in the URLs that it is compared with.
        try:
            host = host.encode("idna").decode()
        except UnicodeError:
            return ""
    return host if _plain(host) is not None else ""
