"""Pages that send their reader on."""

from __future__ import annotations

import pytest

from p2pcrawl.fetch.components.chain import Redirected
from p2pcrawl.fetch.components.meta_refresh import MetaRefresh
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings

URL = "http://a.example/old"


def shown(body: str, *, kind: str = "text/html", **request: object) -> bool:
    """Tells whether a page is shown as it is."""
    asked = Request(URL, **request)  # type: ignore[arg-type]
    try:
        MetaRefresh(Settings()).process_answer(asked, Answer(URL, 200, {"Content-Type": kind}, body.encode()))
    except Redirected:
        return False
    return True


def refresh(content: str, tag: str = "meta") -> str:
    return f'<head><{tag} HTTP-EQUIV="Refresh" content="{content}"></head>'


def test_page_that_sends_on_is_a_redirect_by_get() -> None:
    headers = {"Content-Type": "text/plain", "Content-Length": "3", "X-Kept": "1"}
    request = Request(URL, method="POST", body=b"a=1", headers=headers, meta={"kept": 1})
    answer = Answer(URL, 200, {"Content-Type": "text/html"}, refresh("5; url=/new").encode())

    with pytest.raises(Redirected) as redirected:
        MetaRefresh(Settings()).process_answer(request, answer)

    next_ = redirected.value.request
    assert (next_.url, next_.method, next_.body) == ("http://a.example/new", "GET", b"")
    assert list(next_.headers) == ["X-Kept"]
    assert next_.meta["redirect_reasons"] == ["meta refresh"]
    assert (next_.meta["kept"], next_.meta["redirect_urls"], redirected.value.status) == (1, [URL], 200)


def test_page_with_a_base_sends_on_from_there() -> None:
    answer = Answer(URL, 200, {"Content-Type": "text/html"}, f"<base href='/b/'>{refresh('0; url=c')}".encode())

    with pytest.raises(Redirected) as redirected:
        MetaRefresh(Settings()).process_answer(Request(URL), answer)

    assert redirected.value.request.url == "http://a.example/b/c"


@pytest.mark.parametrize(
    "body",
    [
        "<p>refresh yourself</p>",
        refresh("100; url=/new"),
        refresh("30"),
        refresh("30; url=/old"),
        refresh("0; url=javascript:alert(1)"),
        f"<noscript>{refresh('0; url=/new')}</noscript>",
        "<p>" * 2000 + refresh("0; url=/new"),
    ],
    ids=["a-word", "late", "again", "again-by-url", "no-url", "in-noscript", "far-down"],
)
def test_page_that_stays_is_shown(body: str) -> None:
    assert shown(body)


def test_other_kinds_heads_and_those_that_want_no_redirect_are_shown() -> None:
    body = refresh("0; url=/new")

    assert not shown(body)
    assert shown(body, kind="application/pdf")
    assert shown(body, method="HEAD")
    assert shown(body, meta={"dont_redirect": True})
