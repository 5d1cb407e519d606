"""Identity of requests."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.model.crawl.fingerprint import SIZE, fingerprint

URL = "http://a.example/x?b=1&a=2"
headers = st.lists(st.tuples(st.sampled_from(["A", "a", "B", "c"]), st.sampled_from(["1", "2"])), max_size=4)


def test_names_of_one_page_have_one_fingerprint() -> None:
    assert fingerprint(URL) == fingerprint("http://a.example:80/x?a=2&b=1#there")


def test_method_body_headers_and_salt_tell_requests_apart() -> None:
    prints = {
        fingerprint(URL),
        fingerprint(URL, "POST"),
        fingerprint(URL, "POST", b"x"),
        fingerprint(URL, "GET", b"x"),
        fingerprint(URL, headers=[("Accept", "x")]),
        fingerprint(URL, headers=[("Accept", "y")]),
        fingerprint(URL, salt="1"),
        fingerprint(URL, salt="2"),
    }

    assert len(prints) == 8
    assert {len(p) for p in prints} == {SIZE}


@given(headers)
def test_order_and_case_of_header_names_do_not_count(given_headers: list[tuple[str, str]]) -> None:
    one = fingerprint(URL, headers=given_headers)
    other = fingerprint(URL, headers=[(name.swapcase(), value) for name, value in reversed(given_headers)])

    assert one == other


@given(st.text(max_size=6), st.binary(max_size=6), st.text(max_size=6))
def test_parts_cannot_run_into_each_other(method: str, body: bytes, salt: str) -> None:
    one = fingerprint(URL, "X" + method, body + b"1", salt=salt)

    assert one != fingerprint(URL, "X" + method, body, salt=salt + "1")
    assert one != fingerprint(URL, "X" + method + "1", body, salt=salt)


def test_text_that_is_not_unicode_has_a_fingerprint() -> None:
    assert len(fingerprint(URL, "POST", salt="\udfff")) == SIZE
