"""People's downloader middlewares, as components of the chain: they know requests and responses, and no answers."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from p2pcrawl.fetch.components.chain import Component, Detour
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.spiders.hooks.binding import bound
from p2pcrawl.spiders.page.answer_kinds import response_of
from p2pcrawl.spiders.page.response import Response


class Requeued(Detour):
    """A middleware wants ``request`` to be made in place of the one at hand, in its turn."""

    def __init__(self, request: Request, by: str, answer: Answer | None = None, error: Exception | None = None) -> None:
        """``answer``, ``error``: what had come of the one at hand by then."""
        super().__init__(f"{by} returned {request}")
        self.error = error
        self.request = request
        self.by = by
        self.answer = answer


@dataclass(slots=True)
class ShownAnswer(Answer):
    """An answer with the response that middlewares have seen of it, or made themselves: the callback gets the same."""

    response: Any = None


def seen_response(answer: Answer, request: Request) -> Any:
    """Returns the response to an answer: the one that middlewares have seen, if they have."""
    if isinstance(answer, ShownAnswer):
        return answer.response
    return response_of(answer, request, int(request.meta.get("depth", 0)))


def shown_answer(response: Any, request: Request) -> ShownAnswer:
    """Returns the answer that a response stands for."""
    if response.request is None:
        response.request = request
    answer = response.answer
    held = {each.name: getattr(answer, each.name) for each in fields(Answer)}
    return ShownAnswer(**held, response=response)


class PeoplesComponent(Component):
    """One downloader middleware of people's own in the chain, at its order."""

    def __init__(self, middleware: Any, order: int, spider: Any, silence_s: float) -> None:
        """``silence_s``: how long one of its methods may await."""
        self.order = order  # type: ignore[misc]
        self.middleware = middleware
        self._name = type(middleware).__name__
        self._silence_s = silence_s
        self._request = _method(middleware, "process_request", spider, 1)
        self._response = _method(middleware, "process_response", spider, 2)
        self._exception = _method(middleware, "process_exception", spider, 2)

    def defines(self, name: str) -> bool:
        """Tells whether the middleware has what this method of a component calls."""
        own = {"process_request": self._request, "process_answer": self._response, "process_error": self._exception}
        return own[name] is not None

    def process_request(self, request: Request) -> Any:
        assert self._request is not None
        got = self._request(request)
        if got is None:
            return None
        return self._taken(got, request, "process_request")

    def process_answer(self, request: Request, answer: Answer) -> Any:
        assert self._response is not None
        response = seen_response(answer, request)
        got = self._response(request, response)
        if got is response:
            return answer if isinstance(answer, ShownAnswer) else shown_answer(response, request)
        return self._taken(got, request, "process_response", answer)

    def process_error(self, request: Request, error: Exception) -> Any:
        assert self._exception is not None
        got = self._exception(request, error)
        if got is None:
            return None
        return self._taken(got, request, "process_exception", error=error)

    def _taken(
        self,
        got: Any,
        request: Request,
        method: str,
        answer: Answer | None = None,
        error: Exception | None = None,
    ) -> Any:
        if inspect.isawaitable(got):
            return self._awaited(got, request, method, answer, error)
        if isinstance(got, Response):
            return shown_answer(got, request)
        if isinstance(got, Request):
            raise Requeued(got, f"{self._name}.{method}", answer, error)
        if got is None and method != "process_response":
            return None
        wanted = "a Response or a Request" if method == "process_response" else "None, a Response or a Request"
        raise TypeError(f"{self._name}.{method} must return {wanted}, not {type(got).__name__}")

    async def _awaited(
        self, got: Any, request: Request, method: str, answer: Answer | None, error: Exception | None
    ) -> Any:
        async with asyncio.timeout(self._silence_s):
            got = await got
        if answer is not None and isinstance(answer, ShownAnswer) and got is answer.response:
            return answer
        return self._taken(got, request, method, answer, error)


def _method(middleware: Any, name: str, spider: Any, given: int) -> Callable[..., Any] | None:
    return bound(middleware, name, spider, given) if callable(getattr(middleware, name, None)) else None
