"""The signals of one crawl in one slave: who listens to which, and how they are told.

A handler gets those of a signal's facts that it has parameters for. It is held weakly unless it asks otherwise: a
component that nobody holds any more hears nothing. What a handler raises is logged, and the others are told all the
same.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import weakref
from collections.abc import Callable
from typing import Any

from p2pcrawl.model.errors import CloseSpider, DontCloseSpider, IgnoreRequest
from p2pcrawl.spiders.hooks.signal_names import NEVER_SENT, spider_idle

log = logging.getLogger(__name__)

Handler = Callable[..., Any]
Told = list[tuple[Handler, Any]]
"""Each handler, with what it returned or the exception that it raised."""


class SignalBus:
    """Tells handlers of signals. ``sender``: what handlers get under that name."""

    def __init__(self, sender: Any = None) -> None:
        self._sender = sender
        self._handlers: dict[Any, list[_Connected]] = {}
        self._told: set[Any] = set()
        self._tasks: set[asyncio.Future[Any]] = set()

    def connect(self, receiver: Handler, signal: Any, *, weak: bool = True, **_: Any) -> None:
        """Lets ``receiver``, plain or async, be called at each ``signal``; once, however often it is connected."""
        if not callable(receiver):
            raise TypeError(f"a handler of {signal!r} is a function or a method, not {receiver!r}")
        if signal in NEVER_SENT and signal not in self._told:
            self._told.add(signal)
            log.warning("signal %s is not sent: %s", signal.name, NEVER_SENT[signal])
        self.disconnect(receiver, signal)
        self._handlers.setdefault(signal, []).append(_Connected(receiver, weak))

    def disconnect(self, receiver: Handler, signal: Any, **_: Any) -> None:
        """Ends what :meth:`connect` began, if it did."""
        self._handlers[signal] = [each for each in self._handlers.get(signal, ()) if each.handler() != receiver]

    def disconnect_all(self, signal: Any, **_: Any) -> None:
        self._handlers.pop(signal, None)

    def has(self, signal: Any) -> bool:
        """Tells whether anybody may listen: without, there is no need to gather facts."""
        return bool(self._handlers.get(signal))

    async def send(self, signal: Any, **facts: Any) -> Told:
        """Calls the handlers of ``signal`` one after the other, and waits for those that are async."""
        told: Told = []
        for handler, call in self._calls(signal, facts):
            try:
                result = call()
                if inspect.isawaitable(result):
                    result = await result
            except Exception as error:
                result = _noted(handler, signal, error)
            told.append((handler, result))
        return told

    def send_catch_log(self, signal: Any, **facts: Any) -> Told:
        """Calls the handlers of ``signal`` at once. Those that are async begin, and run on by themselves."""
        told: Told = []
        for handler, call in self._calls(signal, facts):
            try:
                result = call()
                if inspect.isawaitable(result):
                    result = asyncio.ensure_future(_finished(result, handler, signal))
                    self._tasks.add(result)
                    result.add_done_callback(self._tasks.discard)
            except Exception as error:
                result = _noted(handler, signal, error)
            told.append((handler, result))
        return told

    async def send_catch_log_async(self, signal: Any, **facts: Any) -> Told:
        """Does as :meth:`send`, under the name that Scrapy's users know."""
        return await self.send(signal, **facts)

    async def send_catch_log_deferred(self, signal: Any, **facts: Any) -> Told:
        """Does as :meth:`send`; there are no deferreds, so what comes back is awaited."""
        return await self.send(signal, **facts)

    async def wait_for(self, signal: Any) -> None:
        """Waits until ``signal`` is sent."""
        came = asyncio.Event()

        def handler() -> None:
            came.set()

        self.connect(handler, signal, weak=False)
        try:
            await came.wait()
        finally:
            self.disconnect(handler, signal)

    async def settle(self) -> None:
        """Waits for the async handlers that were begun and not waited for."""
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _calls(self, signal: Any, facts: dict[str, Any]) -> list[tuple[Handler, Callable[[], Any]]]:
        listeners = self._handlers.get(signal)
        if not listeners:
            return []
        facts = {"signal": signal, "sender": self._sender, **facts}
        facts.pop("dont_log", None)
        alive = [(each, handler) for each in listeners if (handler := each.handler()) is not None]
        if len(alive) < len(listeners):
            self._handlers[signal] = [each for each, _ in alive]
        return [(handler, each.call(handler, facts)) for each, handler in alive]


class _Connected:
    __slots__ = ("_accepts", "handler")

    def __init__(self, receiver: Handler, weak: bool) -> None:
        self.handler: Callable[[], Handler | None] = _weakly(receiver) if weak else lambda: receiver
        self._accepts = _accepted(receiver)

    def call(self, handler: Handler, facts: dict[str, Any]) -> Callable[[], Any]:
        if self._accepts is not None:
            facts = {name: value for name, value in facts.items() if name in self._accepts}
        return lambda: handler(**facts)


def _weakly(receiver: Handler) -> Callable[[], Handler | None]:
    if inspect.ismethod(receiver):
        return weakref.WeakMethod(receiver)
    try:
        return weakref.ref(receiver)
    except TypeError:  # A builtin, for example.
        return lambda: receiver


def _accepted(receiver: Handler) -> frozenset[str] | None:
    """Returns the names of the facts that a handler takes; None: all."""
    try:
        parameters = inspect.signature(receiver).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))


async def _finished(result: Any, handler: Handler, signal: Any) -> Any:
    try:
        return await result
    except Exception as error:
        return _noted(handler, signal, error)


def _noted(handler: Handler, signal: Any, error: Exception) -> Exception:
    meant = (CloseSpider, DontCloseSpider) if signal is spider_idle else IgnoreRequest
    if not isinstance(error, meant):
        log.error("%s raised at %r", getattr(handler, "__qualname__", handler), signal, exc_info=error)
    return error
