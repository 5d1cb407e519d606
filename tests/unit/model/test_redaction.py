"""Passwords are in no line of a face or a log."""

from __future__ import annotations

import json
import logging

import pytest

from p2pcrawl.model.printable import LogLines, on_one_line
from p2pcrawl.model.redaction import redacted


@pytest.mark.parametrize(
    "text",
    [
        "http://user:geheim@a.example/x failed",
        "HTTPS://geheim@a.example",
        "http://user:p@geheim@a.example/",
        "first http://a.example/ then http://u:geheim@b.example:80/?q=1",
        "proxy http://u:geheim@10.0.0.1:3128",
        "mongodb://ada:geheim@db.example/shop.books is away",
        "no answer of postgresql+asyncpg://ada:ge@geheim@db/shop",
        "s3://:geheim@bucket/x",
        "mongodb://h/a.b?tls=true&tlsCertificateKeyFilePassword=geheim&x=1",
        "Authorization: Basic geheim",
        "{'Proxy-Authorization': 'Bearer geheim', 'X': 'y'}",
        '{"http_pass": "geheim", "http_user": "u"}',
        "HTTP_PASS=geheim",
        "-s HTTPPASS=geheim",
        "Cookie: geheim",
        'detail \\"authorization\\": \\"token geheim\\"',
    ],
)
def test_secret_is_left_out(text: str) -> None:
    record = logging.LogRecord("a", 40, "", 0, "%s", (text,), None)

    shown = [redacted(text), on_one_line(text), LogLines().format(record)]

    assert all("geheim" not in line and "***" in line for line in shown)


@pytest.mark.parametrize(
    "text",
    [
        "https://a.example/@user/x?y=a@b",
        "mail a@b.example",
        "cookies_enabled: true",
        "no authorization needed",
        "a@b://c",
    ],
)
def test_what_is_none_stays(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize(
    "value", ["geheim", 'http://u:geheim@h/"x', None, True, ["http://u:geheim@h/"], {"cookie": None}]
)
@pytest.mark.parametrize("key", ["authorization", "cookie", "http_pass", "url"])
def test_json_stays_json(key: str, value: object) -> None:
    line = redacted(json.dumps({key: value, "next": 1}))

    assert json.loads(line)["next"] == 1
    assert key == "url" or "geheim" not in line or isinstance(value, list)


def test_long_text_is_read_in_linear_time() -> None:
    for unit in ("http://", "http://a", "cookie", "cookie: ", "authorization:basic ", "@", "://@"):
        assert redacted(unit * (1_000_000 // len(unit)))
