"""The order in which components see a request, its answer and its errors."""

from __future__ import annotations

import pytest

from p2pcrawl.fetch.components.chain import Chain, Component, Redirected
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import FetchError, IgnoreRequest
from p2pcrawl.model.outcome import Failure

URL = "http://a.example/"


def answer(body: bytes = b"") -> Answer:
    return Answer(URL, 200, {}, body)


class Recorder(Component):
    def __init__(self, order: int, log: list[str]) -> None:
        self.order = order  # type: ignore[misc]
        self.log = log

    def process_request(self, request):
        self.log.append(f"request {self.order}")

    async def process_answer(self, request, answer):
        self.log.append(f"answer {self.order}")
        return answer

    def process_error(self, request, error):
        self.log.append(f"error {self.order}")


async def test_requests_pass_upwards_and_answers_downwards():
    log: list[str] = []

    async def fetch(request):
        log.append("fetch")
        return answer(b"x")

    got = await Chain([Recorder(300, log), Recorder(100, log)], fetch).run(Request(URL))

    assert got.body == b"x"
    assert log == ["request 100", "request 300", "fetch", "answer 300", "answer 100"]


async def test_only_what_a_component_defines_is_called(monkeypatch):
    async def fetch(request):
        return answer()

    for name in ("process_request", "process_answer", "process_error"):
        monkeypatch.setattr(Component, name, None)  # Nobody can call that.

    assert (await Chain([Component(), Component()], fetch).run(Request(URL))).status == 200


async def test_an_answer_on_the_way_in_spares_the_rest_and_the_fetch():
    log: list[str] = []

    class Cached(Component):
        order = 200

        async def process_request(self, request):
            return answer(b"cached")

    async def fetch(request):
        raise AssertionError("fetched")

    got = await Chain([Recorder(100, log), Cached(), Recorder(300, log)], fetch).run(Request(URL))

    assert got.body == b"cached"
    assert log == ["request 100", "answer 300", "answer 100"]


async def test_an_error_is_offered_from_the_network_inwards_and_then_raised():
    log: list[str] = []

    async def fetch(request):
        raise FetchError(Failure.CONNECT, "no")

    with pytest.raises(FetchError):
        await Chain([Recorder(100, log), Recorder(300, log)], fetch).run(Request(URL))

    assert log == ["request 100", "request 300", "error 300", "error 100"]


async def test_an_error_can_be_answered():
    class Consoling(Component):
        async def process_error(self, request, error):
            return answer(b"never mind")

    async def fetch(request):
        raise FetchError(Failure.CONNECT, "no")

    assert (await Chain([Consoling()], fetch).run(Request(URL))).body == b"never mind"


async def test_what_is_raised_on_the_way_back_ends_the_chain():
    log: list[str] = []

    class Elsewhere(Component):
        order = 200

        def process_answer(self, request, answer):
            raise Redirected(Request(URL + "b"), 302)

    async def fetch(request):
        return answer()

    with pytest.raises(Redirected) as caught:
        await Chain([Recorder(100, log), Elsewhere(), Recorder(300, log)], fetch).run(Request(URL))

    assert caught.value.request.url == URL + "b"
    assert log == ["request 100", "request 300", "answer 300"]


async def test_a_request_can_be_dropped():
    class Dropping(Component):
        def process_request(self, request):
            raise IgnoreRequest("not this one")

    with pytest.raises(IgnoreRequest):
        await Chain([Dropping()], lambda request: pytest.fail("fetched")).run(Request(URL))


@pytest.mark.parametrize("wrong", [None, "text", 5])
async def test_a_component_that_loses_the_answer_is_named(wrong):
    class Losing(Component):
        def process_answer(self, request, answer):
            return wrong

    async def fetch(request):
        return answer()

    with pytest.raises(TypeError, match=r"Losing\.process_answer must return an Answer"):
        await Chain([Losing()], fetch).run(Request(URL))
