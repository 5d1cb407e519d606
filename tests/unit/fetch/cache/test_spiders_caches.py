"""Where the cache is, and how robots.txt comes from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.fetch.cache.spiders_caches import Caches, cache_folder
from p2pcrawl.fetch.components.robots import fetch_robots
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.cache_policy import CachePolicy
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError


class Host:
    """Has a robots.txt."""

    def __init__(self) -> None:
        self.asked = 0

    async def fetch(self, request: Request, *, cut: int | None = None) -> Answer:
        self.asked += 1
        return Answer(request.url, 200, {}, b"User-agent: *\nDisallow: /x\n", ip="93.184.216.34")


async def pause(host: str) -> None: ...


def settings_of(folder: Path, **settings: Any) -> Settings:
    return Settings().updated({"httpcache_enabled": True, "httpcache_dir": str(folder), **settings})


async def read(settings: Settings, host: Host) -> tuple[str, bool]:
    """Returns the verdict on the host, and whether it was asked for it."""
    async with Caches(settings, Networks(), "spider", lambda name: None) as caches:
        way = caches.robots(host)
        text = await fetch_robots(way, "http://a.example", settings, pause)
        return text.verdict, way.asked


async def test_robots_txt_is_asked_for_once_by_spiders_that_run_again(tmp_path: Path) -> None:
    host = Host()

    first, second = await read(settings_of(tmp_path), host), await read(settings_of(tmp_path), host)

    assert (first, second) == (("rules", True), ("rules", False))
    assert host.asked == 1


async def test_robots_txt_that_is_missing_where_no_host_is_to_be_asked_forbids_nothing(tmp_path: Path) -> None:
    host = Host()

    assert await read(settings_of(tmp_path, httpcache_ignore_missing=True), host) == ("allow", False)
    assert not host.asked


def test_folder_by_name_is_in_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert cache_folder("httpcache") == tmp_path / "p2pcrawl" / "httpcache"
    assert cache_folder("/srv/pages") == Path("/srv/pages")


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("dummy", CachePolicy.DUMMY),
        ("RFC9111", CachePolicy.RFC9111),
        ("RFC 9111", CachePolicy.RFC9111),
        ("rfc2616", CachePolicy.RFC9111),
        ("scrapy.extensions.httpcache.DummyPolicy", CachePolicy.DUMMY),
        ("scrapy.extensions.httpcache.RFC2616Policy", CachePolicy.RFC9111),
        ("p2pcrawl.extensions.httpcache.RFC2616Policy", CachePolicy.RFC9111),
    ],
)
def test_policies_are_named_as_people_name_them(name: str, policy: CachePolicy) -> None:
    assert Settings().updated({"HTTPCACHE_POLICY": name}).httpcache_policy is policy


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTPCACHE_POLICY", "mine"),
        ("HTTPCACHE_STORAGE", "mine.FilesystemCacheStorage"),
        ("HTTPCACHE_DIR", "../elsewhere"),
        ("HTTPCACHE_DIR", ""),
        ("HTTPCACHE_SIZE_MAX", 0),
        ("HTTPCACHE_EXPIRATION_SECS", -1),
    ],
)
def test_what_cannot_be_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=name):
        Settings().updated({"HTTPCACHE_ENABLED": True, name: value})


def test_scrapys_own_stores_mean_ours() -> None:
    for name in ("FilesystemCacheStorage", "DbmCacheStorage"):
        Settings().updated({"httpcache_enabled": True, "HTTPCACHE_STORAGE": f"scrapy.extensions.httpcache.{name}"})
