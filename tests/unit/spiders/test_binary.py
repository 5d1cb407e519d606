"""Bodies that are no text are no pages, whatever their host calls them."""

from __future__ import annotations

import pytest

from p2pcrawl.spiders.extracting.main_parts import Extract, extracted
from tests.unit.spiders.pages import page

PICTURE = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 8
DOCUMENT = b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\n"
NOISE = bytes(128 + n * 37 % 128 for n in range(2_000))


@pytest.mark.parametrize("extract", list(Extract))
@pytest.mark.parametrize("body", [PICTURE, DOCUMENT, NOISE, b"PK\x03\x04\x14", b"\xff\xd8\xff\xe0\x00\x10JFIF"])
async def test_binary_body_served_as_html_makes_no_item(body: bytes, extract: Extract) -> None:
    assert await extracted(page(body), extract) is None


@pytest.mark.parametrize(
    "body",
    [
        "<!doctype html><title>T</title><p>What is new",
        "\ufeff <p>What is new",
        "What is new stands without any tag",
        "<p>What is \x03 new \x00 is not all clean",
        "<p>What is new".encode("utf-16"),
        "<p>What is n\xe9w, in another encoding than is said".encode("latin-1"),
    ],
)
async def test_page_of_text_is_one_though_not_all_of_it_is_clean(body: str | bytes) -> None:
    assert await extracted(page(body, content_type="text/html"), Extract.MARKDOWN) is not None
