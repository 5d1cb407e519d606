"""The ordered chain of components that a request passes on its way to the network, and its answer back.

Components are compiled into flat lists once, and only the methods that a class really defines are in
them: a component that looks at answers only costs a request nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from inspect import isawaitable
from typing import Any, ClassVar

from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request

Fetch = Callable[[Request], Awaitable[Answer]]


class Component:
    """Base class of what stands in the chain. Define any of the methods, plain or ``async``."""

    order: ClassVar[int] = 500
    """Position: lower is nearer to the spider, higher nearer to the network, as in Scrapy."""
    everywhere: ClassVar[bool] = False
    """Whether it also sees requests that no spider made, such as those for robots.txt."""
    answer_order: ClassVar[int | None] = None
    """Position on the way back, where it is another one."""

    def defines(self, name: str) -> bool:
        """Tells whether there is anything to call under the name of one of the methods below."""
        return getattr(type(self), name) is not getattr(Component, name)

    def process_request(self, request: Request) -> Any:
        """Changes the request in place; returns None to go on, or an Answer to go no further. May raise IgnoreRequest
        to drop it.
        """

    def process_answer(self, request: Request, answer: Answer) -> Any:
        """Returns the answer, or another one in its place. May raise."""
        return answer

    def process_error(self, request: Request, error: Exception) -> Any:
        """Returns an Answer to go on with in place of the error of the fetch, or None."""


class Detour(Exception):
    """Raised where a request goes another way: no failure, and no component is asked about it."""


class Redirected(Detour):
    """The answer says to look elsewhere: ``request`` is what to ask for next, as a new request.

    ``ip`` is the address that said so; ``asked`` and ``answered`` are those of its answer.
    """

    def __init__(
        self, request: Request, status: int, ip: str = "", *, asked: bool = True, answered: bool = True
    ) -> None:
        super().__init__(f"{status} to {request.url}")
        self.request = request
        self.status = status
        self.ip = ip
        self.asked = asked
        self.answered = answered


class Chain:
    """Components around a fetch. One chain serves any number of requests at once."""

    def __init__(self, components: Iterable[Component], fetch: Fetch) -> None:
        inwards = sorted(components, key=lambda component: component.order)
        outwards = sorted(inwards[::-1], key=_place_on_the_way_back, reverse=True)
        self._fetch = fetch
        self._requests = [c.process_request for c in inwards if c.defines("process_request")]
        self._answers = [c.process_answer for c in outwards if c.defines("process_answer")]
        self._errors = [c.process_error for c in outwards if c.defines("process_error")]

    async def run(self, request: Request) -> Answer:
        """Runs a request through the components and the fetch. Returns the answer, as the components leave it.

        Raises what the fetch or a component raises, Redirected among it. Errors of the way in and of
        the fetch are offered to every ``process_error`` first, those of the way back are not.
        """
        try:
            answer = await self._inwards(request)
        except Detour:
            raise
        except Exception as error:
            recovered = await self._recover(request, error) if self._errors else None
            if recovered is None:
                raise
            answer = recovered
        for process in self._answers:
            got = process(request, answer)
            if isinstance(got, Answer):
                answer = got
            else:
                answer = await _an_answer(process, got)
        return answer

    async def _inwards(self, request: Request) -> Answer:
        for process in self._requests:
            got = process(request)
            if got is None:
                continue
            if isawaitable(got):
                got = await got
            if got is not None:
                return await _an_answer(process, got)
        return await self._fetch(request)

    async def _recover(self, request: Request, error: Exception) -> Answer | None:
        for process in self._errors:
            got = process(request, error)
            if isawaitable(got):
                got = await got
            if got is not None:
                return await _an_answer(process, got)
        return None


def _place_on_the_way_back(component: Component) -> int:
    return component.order if component.answer_order is None else component.answer_order


async def _an_answer(process: Callable[..., Any], got: Any) -> Answer:
    if isawaitable(got):
        got = await got
    if not isinstance(got, Answer):
        where = getattr(process, "__qualname__", repr(process))
        raise TypeError(f"{where} must return an Answer, not {type(got).__name__}")
    return got
