"""The small functions that spiders import do what their names have always said."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from p2pcrawl import Field, Item, Request, Spider
from p2pcrawl.http import Response
from p2pcrawl.utils.datatypes import CaseInsensitiveDict, LocalCache, SequenceExclude
from p2pcrawl.utils.defer import deferred_from_coro, ensure_awaitable, maybe_deferred_to_future
from p2pcrawl.utils.deprecate import method_is_overridden
from p2pcrawl.utils.gz import gunzip, gzip_magic_number
from p2pcrawl.utils.httpobj import urlparse_cached
from p2pcrawl.utils.misc import arg_to_iter, load_object, md5sum, rel_has_nofollow, set_environ, walk_modules
from p2pcrawl.utils.python import (
    binary_is_text,
    flatten,
    get_func_args,
    global_object_name,
    to_bytes,
    to_unicode,
    unique,
    without_none_values,
)
from p2pcrawl.utils.response import get_base_url, get_meta_refresh, open_in_browser, response_status_message
from p2pcrawl.utils.serialize import ScrapyJSONEncoder
from p2pcrawl.utils.spider import iterate_spider_output
from p2pcrawl.utils.template import render_templatefile, string_camelcase
from p2pcrawl.utils.url import (
    add_http_if_no_scheme,
    strip_url,
    url_has_any_extension,
    url_is_from_any_domain,
    url_is_from_spider,
    urljoin_rfc,
)
from tests.unit.spiders.pages import page


class Fruit(Item):
    """An item with one field."""

    name = Field()


def greet(self: object, a: int, b: int = 1, *more: int, c: int = 2) -> None: ...


@pytest.mark.parametrize(
    ("found", "meant"),
    [
        (to_bytes("é"), b"\xc3\xa9"),
        (to_bytes("é", "latin-1"), b"\xe9"),
        (to_bytes(b"\xff"), b"\xff"),
        (to_unicode(b"\xc3\xa9"), "é"),
        (to_unicode("é"), "é"),
        (binary_is_text(b"a\tb\n"), True),
        (binary_is_text(b"a\x00b"), False),
        (unique([3, 1, 3, 2, 1]), [3, 1, 2]),
        (unique(["a", "A", "b"], key=str.lower), ["a", "b"]),
        (flatten([1, (2, [3, "four"])]), [1, 2, 3, "four"]),
        (list(arg_to_iter(None)), []),
        (list(arg_to_iter("ab")), ["ab"]),
        (list(arg_to_iter([1, 2])), [1, 2]),
        (list(arg_to_iter({"a": 1})), [{"a": 1}]),
        (list(arg_to_iter(Fruit(name="fig"))), [Fruit(name="fig")]),
        (without_none_values({"a": None, "b": 0}), {"b": 0}),
        (without_none_values([1, None, 0]), [1, 0]),
        (get_func_args(greet), ["self", "a", "b", "c"]),
        (get_func_args(greet, stripself=True), ["a", "b", "c"]),
        (get_func_args(partial(greet, b=2), stripself=True), ["a", "c"]),
        (global_object_name(Fruit), f"{__name__}.Fruit"),
        (md5sum(io.BytesIO(b"some bytes")), "9d0568469d206c1aedf1b71f12f474bc"),
        (rel_has_nofollow("ugc,nofollow"), True),
        (rel_has_nofollow(None), False),
        (response_status_message(404), "404 Not Found"),
        (response_status_message("573"), "573 Unknown Status"),
        (url_is_from_any_domain("http://www.a.example/x", ["a.example"]), True),
        (url_is_from_any_domain("http://ba.example/x", ["a.example"]), False),
        (url_is_from_any_domain("http://A.example:80/x", ["a.example:80"]), True),
        (url_has_any_extension("http://a.example/b.TAR.gz?c.d", {".tar.gz"}), True),
        (url_has_any_extension("http://a.example/b?c.gz", {".gz"}), False),
        (add_http_if_no_scheme("a.example"), "http://a.example"),
        (add_http_if_no_scheme("//a.example"), "http://a.example"),
        (add_http_if_no_scheme("ftp://a.example"), "ftp://a.example"),
        (strip_url("http://u:p@a.example:80/b?c#d"), "http://a.example/b?c"),
        (strip_url("http://u:p@a.example:81/b?c#d", origin_only=True), "http://a.example:81/"),
        (urljoin_rfc(b"http://a.example/b/", "c"), "http://a.example/b/c"),
        (urlparse_cached(Request("http://a.example/b?c")).netloc, "a.example"),
        (string_camelcase("lost-pound of_sugar"), "LostPoundOfSugar"),
        (list(iterate_spider_output(None)), []),
        (method_is_overridden(Fruit, Item, "__init__"), False),
    ],
)  # fmt: skip
def test_values(found: object, meant: object) -> None:
    assert found == meant


@pytest.mark.parametrize("function", [to_bytes, to_unicode, binary_is_text])
def test_other_things_than_text_are_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        function(7)


def test_page_of_a_spider_is_known_by_its_name_and_its_domains() -> None:
    spider = Spider(name="a.example", allowed_domains=["b.example"])

    assert url_is_from_spider("http://a.example/", spider)
    assert url_is_from_spider("http://www.b.example/", spider)
    assert not url_is_from_spider("http://c.example/", spider)


def test_base_and_refresh_of_a_page_are_those_that_it_names() -> None:
    answer = page(
        '<head><base href="http://b.example/"><meta http-equiv="refresh" content="5; url=/next"></head>',
        url="http://a.example/x",
    )

    assert get_base_url(answer) == "http://b.example/"
    assert get_meta_refresh(answer) == (5.0, "http://b.example/next")


def test_page_in_the_browser_counts_its_links_from_where_it_was_had() -> None:
    opened: list[str] = []

    open_in_browser(page("<html><head></head></html>", url="http://a.example/x"), _openfunc=opened.append)

    file = Path(unquote(urlsplit(opened[0]).path))
    assert file.read_text() == '<base href="http://a.example/x"><html><head></head></html>'
    file.unlink()


@pytest.mark.parametrize("hostile", [b"<head\t" * 80_000, b"-><!--\x00" * 80_000, b"<!doctype" * 80_000])
def test_page_in_the_browser_keeps_its_doctype_and_its_base_whatever_follows(hostile: bytes) -> None:
    opened: list[str] = []
    body = b"<!DOCTYPE html><base href='/b/'>" + hostile

    open_in_browser(page(body, url="http://a.example/x"), _openfunc=opened.append)

    file = Path(unquote(urlsplit(opened[0]).path))
    assert file.read_bytes() == body.replace(b"html>", b'html><base href="http://a.example/b/">', 1)
    file.unlink()


def test_what_is_no_text_is_not_shown_in_the_browser() -> None:
    with pytest.raises(TypeError, match="text"):
        open_in_browser(Response("http://a.example/x", body=b"\0"), _openfunc=print)


def test_copy_of_a_dict_in_any_case_is_one_of_its_own() -> None:
    first = CaseInsensitiveDict({"Key": 1})

    second = first.copy()
    second |= {"KEY": 2, "other": 3}

    assert (dict(first), dict(second)) == ({"Key": 1}, {"KEY": 2, "other": 3})
    assert "OTHER" in second


def test_class_is_loaded_as_itself() -> None:
    assert load_object(Fruit) is Fruit
    with pytest.raises(TypeError, match="int"):
        load_object(3)


def test_json_of_what_spiders_have_in_hand() -> None:
    held = {"item": Fruit(name="fig"), "day": date(2020, 1, 2), "set": {1}, "request": Request("http://a.example/")}

    text = ScrapyJSONEncoder().encode(held)

    assert json.loads(text) == {
        "item": {"name": "fig"}, "day": "2020-01-02", "set": [1], "request": "<Request GET http://a.example/>"
    }  # fmt: skip


def test_what_gzip_made_is_had_back() -> None:
    made = gzip.compress(b"some ") + gzip.compress(b"bytes")

    assert gunzip(made) == b"some bytes"
    assert gunzip(made + b"\x00\x00") == b"some bytes"
    assert gunzip(gzip.compress(os.urandom(9000))[:4000]) != b""
    assert gzip_magic_number(page(made, url="http://a.example/s.gz"))


def test_bomb_and_plain_bytes_are_no_gzip() -> None:
    with pytest.raises(OSError, match="more than 10 bytes"):
        gunzip(gzip.compress(bytes(1000)), max_size=10)
    with pytest.raises(OSError, match="did not make"):
        gunzip(b"<html>")


def test_awaitables_stand_for_deferreds() -> None:
    async def seven() -> int:
        return 7

    async def all_of_them() -> list[int]:
        return [
            await maybe_deferred_to_future(seven()),
            await deferred_from_coro(seven()),
            await ensure_awaitable(seven()),
            await ensure_awaitable(7),
        ]

    assert asyncio.run(all_of_them()) == [7, 7, 7, 7]


def test_keys_in_any_case_are_one() -> None:
    held = CaseInsensitiveDict({"Accept": 1})

    held["ACCEPT"] = 2

    assert held["accept"] == 2
    assert list(held) == ["ACCEPT"]


def test_oldest_of_a_full_cache_makes_room() -> None:
    cache = LocalCache(2)

    for key in "abc":
        cache[key] = key

    assert list(cache) == ["b", "c"]
    assert "a" in SequenceExclude(cache)


def test_template_is_filled_and_renamed(tmp_path: Path) -> None:
    file = tmp_path / "spider.py.tmpl"
    file.write_text("name = '$name'")

    render_templatefile(file, name="shop")

    assert (tmp_path / "spider.py").read_text() == "name = 'shop'"


def test_environment_is_set_for_a_while() -> None:
    with set_environ(P2PCRAWL_TRIED="yes"):
        assert os.environ["P2PCRAWL_TRIED"] == "yes"

    assert "P2PCRAWL_TRIED" not in os.environ


def test_all_modules_of_a_package_are_walked() -> None:
    names = [module.__name__ for module in walk_modules("p2pcrawl.utils")]

    assert {"p2pcrawl.utils", "p2pcrawl.utils.url", "p2pcrawl.utils.gz"} <= set(names)
