"""The ends of pages, as they are reported: what each way to end one comes to."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from p2pcrawl.core.hosts.retry import SLOW_DOWN_STATUS
from p2pcrawl.fetch.components.chain import Redirected
from p2pcrawl.fetch.components.standard import Disallowed
from p2pcrawl.fetch.components.status import StatusError
from p2pcrawl.fetch.components.usage import Reserved
from p2pcrawl.fetch.connection.guard import Blocked, is_private
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.errors import FetchError, TooSlow
from p2pcrawl.model.outcome import Drop, Failure, NoPage
from p2pcrawl.slave.pages.harvest import Harvest
from p2pcrawl.slave.pages.traces import trace_of
from p2pcrawl.stores.sink import SinkAway
from p2pcrawl.wire.messages.slave_messages import Outcome, Task

STORE_RETRY_S: Final = 5.0
STORE_RETRY_MAX_S: Final = 300.0


def answered_end(answer: Answer) -> Outcome:
    """Returns the end of a page that was had, unless its callback says otherwise."""
    outcome = Outcome(Phase.DONE, digest=blake2b(answer.body, digest_size=8).digest(), marked=answer.forbidden)
    add_answer(outcome, answer)
    return outcome


def redirected_end(redirect: Redirected) -> Outcome:
    """Returns the end of a page that leads to another one."""
    return Outcome(
        Phase.DONE,
        NoPage.REDIRECT,
        redirect.request.url,
        redirect.status,
        answered=redirect.answered,
        private=is_private(redirect.ip),
        unasked=not redirect.asked,
    )


def failed_end(error: FetchError) -> Outcome:
    """Returns the end of a page whose fetch failed, or was answered with what nobody asked for."""
    answer: Answer | None = error.answer if isinstance(error, StatusError) else None
    status = answer.status if answer is not None else 0
    outcome = Outcome(
        Phase.FAILED,
        error.kind,
        str(error),
        status,
        size=len(answer.body) if answer is not None else 0,
        latency_s=answer.latency_s if answer is not None else 0.0,
        answered=answer is not None and answer.answered,
        slow_down=status in SLOW_DOWN_STATUS and (answer is None or answer.asked),
        private=answer is not None and is_private(answer.ip),
        unasked=answer is not None and not answer.asked,
    )
    if isinstance(error, StatusError) and outcome.slow_down:
        outcome.host_pause_s = error.retry_after_s or 0.0
    return outcome


def left_out_end(error: Exception, why_unreachable: str) -> Outcome:
    """Returns the end of a page that is not to be fetched. ``why_unreachable``: why its host's robots.txt could not be
    had.
    """
    if isinstance(error, Disallowed):
        if error.drop is Drop.ROBOTS_UNREACHABLE:
            told = f"robots.txt could not be read, so the page is left alone: {why_unreachable}"
            unknown = why_unreachable.partition(":")[0] in (Failure.NO_NAME, Failure.DNS)
            return Outcome(Phase.FAILED, Drop.ROBOTS_UNKNOWN_HOST if unknown else error.drop, told)
        return Outcome(Phase.DROPPED, error.drop, error.why)
    if isinstance(error, Reserved):
        return _reserved(error)
    drop = Drop.PRIVATE_NETWORK if isinstance(error, Blocked) else Drop.IGNORED
    return Outcome(Phase.DROPPED, drop, str(error))


def error_to_tell(error: Exception, why_unreachable: str) -> Exception:
    """Returns what the errback of a page is told that is not to be fetched: where its host could not be reached even
    for robots.txt, the error of that, as the page itself would have met it.
    """
    if isinstance(error, Disallowed) and error.drop is Drop.ROBOTS_UNREACHABLE:
        kind, _, message = why_unreachable.partition(": ")
        if kind in tuple(Failure):
            return FetchError(Failure(kind), message)
    return error


def _reserved(error: Reserved) -> Outcome:
    """Returns the end of a page that its site keeps from what the crawl is for."""
    outcome = Outcome(Phase.DROPPED, error.drop, error.why)
    if (answer := error.answer) is not None:
        add_answer(outcome, answer)
        # Errbacks hear of it, and the page is not for them either.
        error.answer = None
    return outcome


def add_answer(outcome: Outcome, answer: Answer) -> None:
    """Adds to an end what a host has answered."""
    outcome.status, outcome.size, outcome.latency_s = answer.status, len(answer.body), answer.latency_s
    outcome.answered, outcome.private = answer.answered, is_private(answer.ip)
    outcome.unasked = not answer.asked


def too_slow(outcome: Outcome, error: TooSlow) -> Outcome:
    """Makes a page failed whose answer took too much work."""
    outcome.phase, outcome.reason, outcome.detail = Phase.FAILED, Failure.TOO_SLOW, trace_of(error)
    return outcome


def with_failed_items(harvest: Harvest, outcome: Outcome) -> Outcome:
    """Makes a page failed of which an item failed."""
    if harvest.failed_items and outcome.phase == Phase.DONE:
        outcome.phase, outcome.reason = Phase.FAILED, Failure.ITEM
        outcome.detail = f"{harvest.failed_items} of its items failed, the first so:\n{harvest.item_trace}"
    return outcome


def kept_nowhere(task: Task, error: SinkAway, outcome: Outcome) -> Outcome:
    """Puts a file off whose place cannot be reached."""
    outcome.phase, outcome.reason, outcome.detail = Phase.QUEUED, Failure.STORE, str(error)
    outcome.retry_in_s = min(STORE_RETRY_S * 2 ** (task.attempt - 1), STORE_RETRY_MAX_S)
    return outcome
