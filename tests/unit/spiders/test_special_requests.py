"""Requests of special kinds, and requests in other forms: dicts and commands of curl."""

from __future__ import annotations

import shlex
from typing import Any
from xmlrpc.client import loads

import pytest

from p2pcrawl.http import FormRequest, JsonRequest, Request, XmlRpcRequest
from p2pcrawl.model.errors import BadRequest
from p2pcrawl.spiders.requests.as_dict import request_authenticate, request_from_dict, request_httprepr
from p2pcrawl.spiders.requests.fingerprinter import RequestFingerprinter, request_fingerprint
from p2pcrawl.spiders.spider import Spider
from p2pcrawl.utils.curl import curl_to_request_kwargs

URL = "http://a.example/"


class Waits(Request):
    """A request of somebody's own."""

    def __init__(self, *args: Any, wait: int = 0, **kwargs: Any) -> None:
        self.wait = wait
        super().__init__(*args, **kwargs)


class Shop(Spider):
    def parse_item(self, response: Any) -> None: ...
    def failed(self, failure: Any) -> None: ...


@pytest.mark.filterwarnings("ignore:a JsonRequest with a body")
@pytest.mark.parametrize(
    ("arguments", "method", "body"),
    [
        ({"data": {"b": 1, "a": "é"}}, "POST", b'{"a": "\\u00e9", "b": 1}'),
        ({"data": {"b": 1, "a": 2}, "dumps_kwargs": {"sort_keys": False}}, "POST", b'{"b": 1, "a": 2}'),
        ({"data": [], "method": "PUT"}, "PUT", b"[]"),
        ({"data": {"a": 1}, "body": b"mine"}, "GET", b"mine"),
        ({}, "GET", b""),
    ],
)
def test_json_is_sent(arguments: Any, method: str, body: bytes) -> None:
    request = JsonRequest(URL, **arguments)

    assert (request.method, request.body) == (method, body)
    assert request.headers["Content-Type"] == "application/json"


def test_json_is_replaced_by_other_data_in_the_same_form() -> None:
    request = JsonRequest(URL, data={"a": 1}, dumps_kwargs={"indent": 1})

    changed = request.replace(data={"c": 1})

    assert (type(changed), changed.body, changed.method) == (JsonRequest, b'{\n "c": 1\n}', "POST")


def test_data_beside_a_body_is_left_out_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="data will be ignored"):
        request = JsonRequest(URL, body=b"{}", data={"a": 1})
    with pytest.warns(UserWarning, match="data will be ignored"):
        changed = request.replace(body=b"[]", data={"b": 1})

    assert (request.body, changed.body) == (b"{}", b"[]")


def test_arguments_of_a_request_are_read_from_a_command_of_curl() -> None:
    arguments = curl_to_request_kwargs("curl 'http://a.example/' -H 'X-A: b' --odd", True)

    assert Request(**arguments).headers["X-A"] == "b"


def test_call_of_xml_rpc_is_posted_each_time() -> None:
    request = XmlRpcRequest(URL, params=("a", 1), methodname="login", encoding="utf-8")

    assert loads(request.body) == (("a", 1), "login")
    assert (request.method, request.dont_filter, request.headers["Content-Type"]) == ("POST", True, "text/xml")


def test_request_of_a_class_of_ones_own_stays_of_its_class() -> None:
    request = Waits(URL, wait=3, kind="detail")

    assert type(request.replace(priority=1)) is Waits
    assert request.copy().kind == "detail"


def test_request_comes_back_from_its_dict() -> None:
    spider = Shop()
    request = FormRequest(URL, spider.parse_item, errback=spider.failed, formdata={"a": "1"}, cookies={"b": "2"})

    fields = request.to_dict(spider=spider)
    back = request_from_dict(fields, spider=spider)

    assert (fields["callback"], fields["_class"].rpartition(".")[2]) == ("parse_item", "FormRequest")
    assert type(back) is FormRequest
    assert {name: getattr(back, name) for name in Request.attributes} == {
        name: getattr(request, name) for name in Request.attributes
    }


def test_callback_of_somebody_else_is_in_no_dict() -> None:
    with pytest.raises(ValueError, match="no method of spider"):
        Request(URL, Shop().parse_item).to_dict(spider=Shop())
    with pytest.raises(ValueError, match="has no method"):
        request_from_dict({"url": URL, "callback": "nothing"}, spider=Shop())
    with pytest.raises(ValueError, match="no class of requests"):
        request_from_dict({"url": URL, "_class": "builtins.dict"})


COMMANDS = [
    ("curl http://a.example/", {"method": "GET"}),
    ("curl a.example/x", {"url": "http://a.example/x"}),
    ("curl 'http://a.example/' -H 'X-A: 1' -H 'Cookie: a=1; b=2' --compressed",
     {"headers": {"X-A": "1"}, "cookies": {"a": "1", "b": "2"}}),
    ("curl -X DELETE http://a.example/", {"method": "DELETE"}),
    ("curl --head http://a.example/", {"method": "HEAD"}),
    ("curl http://a.example/ -d a=1 --data-raw 'b=2'",
     {"method": "POST", "body": b"a=1&b=2", "headers": {"Content-Type": "application/x-www-form-urlencoded"}}),
    ("curl http://a.example/ --data-raw $'{\"a\"}' -H 'Content-Type: application/json'",
     {"body": b'{"a"}', "headers": {"Content-Type": "application/json"}}),
    ("curl -G http://a.example/ -d a=1", {"method": "GET", "url": "http://a.example/?a=1"}),
    ("curl http://a.example/ --json '{}'",
     {"method": "POST", "headers": {"Content-Type": "application/json", "Accept": "application/json"}}),
    ("curl -u me:pw -A agent -e http://b.example/ http://a.example/",
     {"headers": {"User-Agent": "agent", "Referer": "http://b.example/", "Authorization": "Basic bWU6cHc="}}),
    ("curl \\\n http://a.example/ \\\n -b 'a=1'", {"cookies": {"a": "1"}}),
    ("curl --unknown --url http://a.example/", {"url": URL}),
]  # fmt: skip


@pytest.mark.parametrize(("command", "fields"), COMMANDS)
def test_request_is_read_from_a_command_of_curl(command: str, fields: dict[str, Any]) -> None:
    request = Request.from_curl(command, priority=5)

    assert {name: getattr(request, name) for name in fields} == fields
    assert request.priority == 5


@pytest.mark.parametrize("command", ["wget http://a.example/", "curl", "curl 'http", "curl -H", "curl -d a=1"])
def test_command_that_is_none_of_curl_is_refused(command: str) -> None:
    with pytest.raises(BadRequest):
        Request.from_curl(command)


def test_option_that_is_not_known_is_refused_where_it_counts() -> None:
    with pytest.raises(BadRequest, match="--unknown"):
        Request.from_curl("curl --unknown http://a.example/", ignore_unknown_options=False)


def test_command_of_curl_makes_the_same_request() -> None:
    request = Request(
        URL, method="POST", body="it's", headers={"X-A": ["1", "2"]}, cookies=[{"name": "a", "value": "1"}]
    )

    command = request.to_curl()
    back = Request.from_curl(command)

    assert shlex.split(command)[:2] == ["curl", "-X"]
    assert (back.method, back.body, back.cookies) == ("POST", b"it's", {"a": "1"})


def test_request_is_shown_as_http_has_it() -> None:
    request = Request(f"{URL}x?y", method="POST", body="b", headers={"A": "1"})
    request_authenticate(request, "me", "pw")

    assert request_httprepr(request) == (
        b"POST /x?y HTTP/1.1\r\nHost: a.example\r\nA: 1\r\nAuthorization: Basic bWU6cHc=\r\n\r\nb"
    )


def test_default_fingerprint_knows_a_page_by_its_canonical_url_and_what_is_sent() -> None:
    same = [Request("http://a.example/?b=2&a=1#x"), Request("HTTP://A.example:80/?a=1&b=2", headers={"X": "1"})]
    others = [Request(URL), Request(same[0].url, method="POST"), Request(same[0].url, method="POST", body="x")]

    assert len({request_fingerprint(each) for each in same}) == 1
    assert len({request_fingerprint(each) for each in [*same, *others]}) == 4
    assert len({request_fingerprint(each, include_headers=["x"]) for each in same}) == 2
    assert len({request_fingerprint(each, keep_fragments=True) for each in same}) == 2
    assert RequestFingerprinter().fingerprint(same[0]) == request_fingerprint(same[1])
