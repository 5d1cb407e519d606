"""The sink that posts items to somebody's HTTP server, each until the server says that it took it.

It is keyed: a message that was sent and of which no answer came is sent again, with the same bytes, the same name and
the same keys. So a receiver sees each item once *by key*, and on the wire at least once.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable, Sequence
from urllib.parse import unquote

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import SinkAddress
from p2pcrawl.stores.kinds import SinkPlace
from p2pcrawl.stores.shaping import batch_limits
from p2pcrawl.stores.sink import BatchLimits, Position, RefusedItem, SinkAway, SinkPage, Written
from p2pcrawl.stores.webhooks.message import PING, Signer, WebhookMessage, messages_of
from p2pcrawl.stores.webhooks.receiver import ANSWER_S, Receiver, ReceiverAnswer, Unreachable, Verdict, away

PARALLEL = 4
"""Messages on their way at once: enough to hide the way to a receiver, few enough for a small one."""
MESSAGE = BatchLimits(items=100, bytes=1024 * 1024)
"""One message, where the address does not say how large it is: many servers take no body above 1 MiB."""


class WebhookSink:
    """A :class:`~p2pcrawl.stores.sink.Sink` that posts. ``clock``: seconds that only go forward."""

    def __init__(
        self,
        address: SinkAddress,
        place: SinkPlace,
        *,
        answer_s: float = ANSWER_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if place.replace:
            raise ConfigurationError("a webhook cannot be emptied: give it with -o, not with -O")
        user, url = _without_user(address.url)
        self._signer, headers = _authority(user, address.secret, address.options.get("auth", "sign"))
        self._receiver = Receiver(url, headers, parallel=PARALLEL, answer_s=answer_s)
        self._spider = place.job_name
        self._history = address.options.get("mode") == "history"
        self._message = batch_limits(MESSAGE, address.options)
        self._clock = clock
        self._not_before = 0.0
        self._begun = False
        # More is brought at once than a message holds, so that several can be on their way.
        items = max(self._message.items * PARALLEL, MESSAGE.items)
        self.limits = BatchLimits(items, self._message.bytes * PARALLEL, self._message.linger_s)

    async def open(self, position: Position | None) -> Position:
        self._begun = self._begun or position is not None
        self._check_wait()
        answer = await self._posted(PING, "")
        if answer.verdict is Verdict.SHUT:
            self._give_up(f"{self._receiver.shown} answers {answer.told}")
        if answer.verdict is Verdict.LATER:
            raise self._away(answer)
        self._begun = True
        return {}

    async def write(self, pages: Sequence[SinkPage]) -> Written:
        self._check_wait()
        limits = self._message
        messages = list(messages_of(pages, history=self._history, items_max=limits.items, bytes_max=limits.bytes))
        # With visits that replace others, a receiver may rely on the order.
        parallel = 1 if any(page.visit for page in pages) else PARALLEL
        refused: list[RefusedItem] = []
        for begin in range(0, len(messages), parallel):
            try:
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(self._brought(each)) for each in messages[begin : begin + parallel]]
            except* SinkAway as errors:
                raise SinkAway(str(_first(errors))) from None
            for task in tasks:
                refused += task.result()
        return Written({}, refused)

    async def finish(self) -> None:
        """Leaves everything as it is: a message that was taken was taken."""

    async def close(self) -> None:
        await self._receiver.aclose()

    async def _brought(self, message: WebhookMessage) -> list[RefusedItem]:
        """Posts a message, and where it is refused its halves, so that one item does not cost the others their way."""
        answer = await self._posted(message.body(self._spider), message.idempotency_key)
        match answer.verdict:
            case Verdict.TAKEN:
                return []
            case Verdict.LATER | Verdict.SHUT:
                raise self._away(answer)
            case Verdict.REFUSED if len(message.items) > 1:
                first, second = message.halves()
                return await self._brought(first) + await self._brought(second)
            case Verdict.REFUSED:
                return [RefusedItem(item.page, item.place, answer.told) for item in message.items]

    async def _posted(self, body: bytes, key: str) -> ReceiverAnswer:
        try:
            return await self._receiver.post(body, self._signer.headers(body, int(time.time()), key))
        except Unreachable as error:
            if error.final:
                self._give_up(str(error))
            raise SinkAway(str(error)) from None

    def _give_up(self, told: str) -> None:
        """Raises ConfigurationError at the beginning, when the user is there to mend it, and SinkAway later."""
        if self._begun:
            raise SinkAway(told)
        raise ConfigurationError(told)

    def _away(self, answer: ReceiverAnswer) -> SinkAway:
        self._not_before = max(self._not_before, self._clock() + answer.wait_s)
        return away(self._receiver.shown, answer)

    def _check_wait(self) -> None:
        wait_s = self._not_before - self._clock()
        if wait_s > 0:
            raise SinkAway(f"{self._receiver.shown} asked to be left alone for {wait_s:.0f} s more")


def _without_user(url: str) -> tuple[str, str]:
    scheme, rest = url.split("://", 1)
    end = next((at for at, sign in enumerate(rest) if sign in "/?#"), len(rest))
    user, _, host = rest[:end].rpartition("@")
    return unquote(user), f"{scheme}://{host}{rest[end:]}"


def _authority(user: str, secret: str, way: str) -> tuple[Signer, dict[str, str]]:
    """Returns who signs, and the headers by which the receiver knows who posts."""
    if way == "sign":
        return Signer(secret), {}
    if way not in ("basic", "bearer"):
        raise ConfigurationError(f"the webhook's option ?auth= is sign, basic or bearer, not {way!r}")
    if not secret or not secret.isprintable() or not secret.isascii():
        raise ConfigurationError(
            f"a webhook with ?auth={way} needs a password: ?password_env=NAME or ?password_file=PATH"
        )
    if way == "bearer":
        return Signer(""), {"Authorization": f"Bearer {secret}"}
    return Signer(""), {"Authorization": "Basic " + base64.b64encode(f"{user}:{secret}".encode()).decode()}


def _first(errors: BaseExceptionGroup[SinkAway]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
