"""Facts about URLs, and small changes of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from posixpath import splitext
from typing import Any
from urllib.parse import ParseResult, urljoin, urlparse, urlsplit

from p2pcrawl.model.crawl.domains import read_domains
from p2pcrawl.spiders.aids.text_forms import to_unicode

DEFAULT_PORTS = {"http": 80, "https": 443, "ftp": 21}


def url_is_from_any_domain(url: str, domains: Iterable[str]) -> bool:
    """Tells whether the host of a URL is one of these domains, or below one."""
    host = urlparse(url).netloc.lower()
    return bool(host) and any(host == each or host.endswith(f".{each}") for each in map(str.lower, domains))


def url_is_from_spider(url: str, spider: Any) -> bool:
    """Tells whether the host of a URL is the spider's name, or in its ``allowed_domains``."""
    return url_is_from_any_domain(url, [spider.name, *read_domains(getattr(spider, "allowed_domains", ()))[0]])


def url_has_any_extension(url: str, extensions: Iterable[str]) -> bool:
    """Tells whether the path of a URL ends with one of these, which have their dot."""
    path = urlparse(url).path.lower()
    return splitext(path)[1] in extensions or any(path.endswith(each) for each in extensions if each)


def urlparse_cached(request_or_response: Any) -> ParseResult:
    """Returns the parts of the URL of a request or a response."""
    url: str = request_or_response.url
    return urlparse(url)


def add_http_if_no_scheme(url: str) -> str:
    """Returns a URL that begins with ``http://`` unless it has a scheme."""
    if re.match(r"\w+://", url):
        return url
    return f"http:{url}" if url.startswith("//") else f"http://{url}"


def strip_url(
    url: str,
    strip_credentials: bool = True,
    strip_default_port: bool = True,
    origin_only: bool = False,
    strip_fragment: bool = True,
) -> str:
    """Returns a URL without its credentials, default port and fragment, and if wanted without all after the host."""
    parts = urlsplit(url)
    place = parts.netloc
    if strip_credentials or origin_only:
        place = place.rpartition("@")[2]
    if strip_default_port and parts.port == DEFAULT_PORTS.get(parts.scheme, -1):
        place = place.removesuffix(f":{parts.port}")
    parts = parts._replace(netloc=place)
    if origin_only:
        parts = parts._replace(path="/", query="")
    return parts._replace(fragment="" if strip_fragment or origin_only else parts.fragment).geturl()


def urljoin_rfc(base: str | bytes, ref: str | bytes, encoding: str = "utf-8") -> str:
    """Joins a link and the address that it counts from, as ``response.urljoin`` does; an old name for it."""
    return urljoin(to_unicode(base, encoding), to_unicode(ref, encoding))
