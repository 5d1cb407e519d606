"""Requests: what is refused where its author sees it."""

from __future__ import annotations

from typing import Any

import pytest

from p2pcrawl.model.crawl.request import PRIORITY_LIMIT, Kind, Request, callback_name
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.spider import Spider


class Example(Spider):
    name = "example"

    def parse_page(self, response: object) -> None: ...


def free_function(response: object) -> None: ...


def decorated_badly(function: Any) -> Any:
    def inner(self: Any, response: object) -> Any:
        return function(self, response)

    return inner


class Hidden(Example):
    """A spider with callbacks whose functions are called otherwise than its attributes."""

    name = "hidden"

    def __own(self, response: object) -> None: ...

    @decorated_badly
    def parse_more(self, response: object) -> None: ...

    def requests(self) -> list[Request]:
        url = "http://a.example/"
        return [Request(url, self.__own, errback=self.__own), Request(url, self.parse_more)]


class Overriding(Example):
    """A spider that hides a method of its parent's."""

    name = "overriding"

    def parse_page(self, response: object) -> None: ...

    def method_of_the_parent(self) -> Any:
        return super().parse_page


@pytest.mark.parametrize(
    "url", ["", "example.com", "ftp://a.example/", "http://", "javascript:alert(1)", "//a.example/"]
)
def test_url_that_cannot_be_fetched_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="not a URL"):
        Request(url)


@pytest.mark.parametrize("callback", [free_function, lambda response: None, len, "not a name", "a.b"])
def test_callback_that_cannot_travel_is_refused(callback: object) -> None:
    with pytest.raises(ConfigurationError, match="callback"):
        Request("http://a.example/", callback)


def test_callback_stays_the_method_that_it_is() -> None:
    example = Example()

    assert Request("http://a.example/", example.parse_page).callback == example.parse_page


def test_private_method_and_one_that_is_called_otherwise_are_found_by_the_names_that_their_class_knows() -> None:
    requests = Hidden().requests()

    assert [callback_name(each.callback) for each in requests] == ["_Hidden__own", "parse_more"]
    assert [each.to_dict()["errback"] for each in requests] == ["_Hidden__own", None]


def test_method_of_a_parent_is_the_one_that_its_name_means() -> None:
    assert callback_name(Overriding().method_of_the_parent()) == "parse_page"


def test_request_without_a_callback_has_none() -> None:
    assert Request("http://a.example/").callback is None


def test_priority_is_kept_within_what_the_frontier_can_order() -> None:
    assert Request("http://a.example/", priority=10**12).priority == PRIORITY_LIMIT
    assert Request("http://a.example/", priority=-(10**12)).priority == -PRIORITY_LIMIT


def test_copy_is_equal_and_shares_nothing() -> None:
    request = Request("http://a.example/", method="post", body="é", meta={"a": 1}, kind="detail")

    copy = request.copy()
    copy.meta["a"] = 2

    assert request.meta == {"a": 1}
    assert (copy.method, copy.body, copy.kind) == ("POST", "é".encode(), Kind.DETAIL)
