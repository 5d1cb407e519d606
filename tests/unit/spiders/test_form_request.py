"""Forms, sent as a browser would."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import pytest

from p2pcrawl.http import FormRequest, HtmlResponse
from p2pcrawl.model.crawl.request import Request

URL = "http://a.example/dir/page?old=1"


def page_with(body: str, encoding: str = "utf-8") -> HtmlResponse:
    return HtmlResponse(URL, body=body, encoding=encoding)


def sent(body: str, **arguments: Any) -> list[tuple[str, str]]:
    request = FormRequest.from_response(page_with(f"<form method=post>{body}</form>"), **arguments)
    return parse_qsl(request.body.decode(), keep_blank_values=True)


def test_data_is_posted_urlencoded() -> None:
    request = FormRequest(URL, formdata={"a": "é &", "b": ["1", 2], "c": None})

    assert (request.method, request.body) == ("POST", b"a=%C3%A9+%26&b=1&b=2&c=")
    assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"


@pytest.mark.parametrize("formdata", [{"a": "1"}, [("a", "1")]])
def test_data_of_a_get_takes_the_place_of_the_query(formdata: Any) -> None:
    request = FormRequest(URL, method="GET", formdata=formdata)

    assert (request.url, request.body) == ("http://a.example/dir/page?a=1", b"")


def test_request_without_data_is_a_plain_one() -> None:
    request = FormRequest(URL)

    assert (request.method, request.url, request.headers) == ("GET", URL, {})
    assert type(request.replace(priority=1)) is FormRequest
    assert type(request.replace(cls=Request)) is Request


def test_data_is_written_in_the_encoding_of_its_request() -> None:
    assert FormRequest(URL, formdata={"é": "я"}, encoding="cp1252").body == b"%E9=%26%231103%3B"


CONTROLS = [
    ("<input name=a value=1>", [("a", "1")]),
    ("<input name=a>", [("a", "")]),
    ("<input value=1>", []),
    ("<input name=a value=1 disabled>", []),
    ("<input type=hidden name=a value=1>", [("a", "1")]),
    ("<input type=checkbox name=a value=1>", []),
    ("<input type=CheckBox name=a value=1 checked>", [("a", "1")]),
    ("<input type=checkbox name=a checked>", [("a", "on")]),
    ("<input type=radio name=a value=1><input type=radio name=a value=2 checked>", [("a", "2")]),
    ("<input type=reset name=a value=1><input type=button name=b value=2>", []),
    ("<textarea name=a>\n x </textarea>", [("a", " x ")]),
    ("<textarea name=a></textarea>", [("a", "")]),
    ("<select name=a><option value=1><option value=2 selected></select>", [("a", "2")]),
    ("<select name=a><option disabled value=1><option> two  words </select>", [("a", "two words")]),
    ("<select name=a></select>", []),
    ("<select name=a multiple><option value=1 selected><option value=2 selected><option value=3></select>",
     [("a", "1"), ("a", "2")]),
    ("<select name=a multiple><option value=1></select>", []),
    ("<input type=file name=a>", [("a", "")]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "fields"), CONTROLS)
def test_field_is_sent_with_its_value(body: str, fields: list[tuple[str, str]]) -> None:
    assert sent(body) == fields


def test_data_takes_the_place_of_fields_and_none_takes_them_out() -> None:
    body = "<input name=a value=1><input name=b value=2><input name=c value=3>"

    assert sent(body, formdata={"b": ["x", "y"], "c": None, "d": "4"}) == [
        ("a", "1"),
        ("b", "x"),
        ("b", "y"),
        ("d", "4"),
    ]


BUTTONS = (
    "<input name=f value=1><input type=submit name=s value=one><button name=s value=two>2</button>"
    "<input type=image name=i>"
)


@pytest.mark.parametrize(
    ("arguments", "clicked"),
    [
        ({}, [("s", "one")]),
        ({"dont_click": True}, []),
        ({"clickdata": {"value": "two"}}, [("s", "two")]),
        ({"clickdata": {"name": "i"}}, [("i", "")]),
        ({"clickdata": {"nr": 2}}, [("s", "two")]),
        ({"formdata": {"s": "mine"}}, [("s", "mine")]),
    ],
)
def test_button_that_is_clicked_is_sent(arguments: Any, clicked: list[tuple[str, str]]) -> None:
    assert sent(BUTTONS, **arguments) == [("f", "1"), *clicked]


@pytest.mark.parametrize("clickdata", [{"name": "s"}, {"name": "nobody"}, {"nr": 99}])
def test_button_that_cannot_be_told_is_refused(clickdata: Any) -> None:
    with pytest.raises(ValueError, match="clickdata"):
        sent(BUTTONS, clickdata=clickdata)


FORMS = """<form name=first action=/1><input name=n value=1></form>
<form id=second action=/2><p><input name=n value=2></p></form>
<form action="/3 "><input name=n value=3></form>"""


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({}, "/1?n=1"),
        ({"formname": "first"}, "/1?n=1"),
        ({"formid": "second"}, "/2?n=2"),
        ({"formname": "nobody", "formid": "second"}, "/2?n=2"),
        ({"formnumber": 2}, "/3?n=3"),
        ({"formnumber": -1}, "/3?n=3"),
        ({"formxpath": "//form[3]"}, "/3?n=3"),
        ({"formxpath": "//p/input"}, "/2?n=2"),
        ({"formcss": "#second input"}, "/2?n=2"),
        ({"url": "/other"}, "/other?n=1"),
    ],
)
def test_form_is_chosen(arguments: Any, path: str) -> None:
    assert FormRequest.from_response(page_with(FORMS), **arguments).url == "http://a.example" + path


@pytest.mark.parametrize(
    ("body", "arguments", "error"),
    [
        ("<p>", {}, ValueError),
        (FORMS, {"formnumber": 3}, IndexError),
        (FORMS, {"formxpath": "//p[9]"}, ValueError),
        (FORMS, {"formcss": "html"}, ValueError),
        (FORMS, {"formdata": 7}, ValueError),
    ],
)
def test_form_that_is_not_there_is_refused(body: str, arguments: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        FormRequest.from_response(page_with(body), **arguments)


@pytest.mark.parametrize(
    ("form", "arguments", "method", "url"),
    [
        ("<form>", {}, "GET", "http://a.example/dir/page"),
        ("<form method=POST>", {}, "POST", URL),
        ("<form method=dialog action=x>", {}, "GET", "http://a.example/dir/x"),
        ("<form method=post action=x>", {"method": "GET"}, "GET", "http://a.example/dir/x"),
        ("<base href=/b/><form method=post action=x>", {}, "POST", "http://a.example/b/x"),
        ("<form action=x><button formaction=y formmethod=post>", {}, "POST", "http://a.example/dir/y"),
    ],
)
def test_form_leads_where_it_says(form: str, arguments: Any, method: str, url: str) -> None:
    request = FormRequest.from_response(page_with(form), **arguments)

    assert (request.method, request.url) == (method, url)


def test_fields_elsewhere_belong_to_the_form_that_they_name() -> None:
    body = "<form id=f><input name=a value=1><input name=b value=2 form=other></form><input name=c value=3 form=f>"

    assert FormRequest.from_response(page_with(body)).url == "http://a.example/dir/page?a=1&c=3"


@pytest.mark.parametrize(
    ("form", "field"), [("<form>", "%EF%EE"), ("<form accept-charset='nonsense, utf-8'>", "%D0%BF%D0%BE")]
)
def test_fields_are_sent_in_the_encoding_of_the_page_or_of_the_form(form: str, field: str) -> None:
    request = FormRequest.from_response(page_with(f"{form}<input name=q value=по>", "cp1251"))

    assert request.url == f"http://a.example/dir/page?q={field}"


def test_other_arguments_are_those_of_a_request() -> None:
    request = FormRequest.from_response(page_with("<form>"), headers={"A": "1"}, meta={"m": 1}, dont_filter=True)

    assert (request.headers, request.meta, request.dont_filter) == ({"A": "1"}, {"m": 1}, True)
