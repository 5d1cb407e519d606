"""The task of a schedule: what it does each time, as it travels and as it is kept.

It is a submission as it was made, with the code of its spider, or URLs for a job. Passwords of sinks are no part of it:
they are sealed, and bound to it, so that they open for nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from p2pcrawl.master.schedules.schedule_book import task_digest
from p2pcrawl.model.cluster.schedule import TASK_BYTES_MAX, WHY_CHARS_MAX
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.answers.submission import Submission
from p2pcrawl.spiders.page.typed_urls import checked_url
from p2pcrawl.wire.sealed.at_rest import RestSeal, SealedAway


class _Fed(msgspec.Struct):
    job: str
    urls: list[str]


class _Packed(msgspec.Struct):
    crawl: dict[str, Any] | None = None
    inject: _Fed | None = None


_decode = msgspec.json.Decoder(_Packed).decode


@dataclass(frozen=True, slots=True)
class ScheduledTask:
    """A crawl to submit; or, without one, URLs to put into a job."""

    crawl: Submission | None
    job: str = ""
    """The job that is fed, as people call it: which one that is turns out each time."""
    urls: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The task in a few words."""
        if self.crawl is not None:
            return " ".join([self.crawl.name, *self.crawl.urls])[:WHY_CHARS_MAX]
        return f"{len(self.urls):,} URL{'s' if len(self.urls) != 1 else ''} into {self.job}"[:WHY_CHARS_MAX]

    def packed(self) -> bytes:
        """Returns it as it is kept, without passwords. Raises ConfigurationError for one that is too long."""
        if self.crawl is not None:
            bare = replace(self.crawl, sinks=[SinkSpec(sink.url, sink.options) for sink in self.crawl.sinks])
            task = msgspec.json.encode(_Packed(crawl=bare.plain()))
        else:
            task = msgspec.json.encode(_Packed(inject=_Fed(self.job, list(self.urls))))
        if len(task) > TASK_BYTES_MAX:
            raise ConfigurationError(f"a schedule is over the limit of {TASK_BYTES_MAX:,} bytes: {len(task):,}")
        return task

    def sealed(self, seal: RestSeal, name: str) -> bytes:
        """Returns the passwords of its sinks, for the schedule of this name alone."""
        secrets = [sink.secret for sink in self.crawl.sinks] if self.crawl is not None else []
        return seal.seal(secrets, bound_to(name, task_digest(self.packed())))


def opened_task(task: bytes, secrets: bytes, seal: RestSeal, name: str) -> ScheduledTask:
    """Reads a task that was kept. Raises ConfigurationError for what is none, or whose passwords cannot be opened."""
    try:
        packed = _decode(task)
        opened = seal.open(secrets, bound_to(name, task_digest(task)))
    except msgspec.MsgspecError as error:
        raise ConfigurationError(f"what schedule {name} does cannot be read: {error}") from None
    except SealedAway as error:
        raise ConfigurationError(f"the passwords of the outputs of schedule {name} cannot be read: {error}") from None
    if packed.crawl is None:
        fed = packed.inject or _Fed("", [])
        return ScheduledTask(None, fed.job, tuple(fed.urls))
    crawl = Submission.read({**packed.crawl, "label": name})
    sinks = [replace(sink, secret=secret) for sink, secret in zip(crawl.sinks, opened, strict=True)] if opened else None
    return ScheduledTask(replace(crawl, sinks=sinks) if sinks is not None else crawl)


def asked_task(crawl: Any, inject: Any) -> ScheduledTask:
    """Reads a task as a call has it. Raises ConfigurationError."""
    if (crawl is None) == (inject is None):
        raise ConfigurationError("a schedule has either a crawl to submit, or URLs to inject into a job")
    if inject is not None:
        return _asked_injection(inject)
    if not isinstance(crawl, dict):
        raise ConfigurationError("the crawl of a schedule is a submission, as a JSON object")
    submission = Submission.read(crawl)
    if submission.label:
        raise ConfigurationError("the runs of a schedule are called as it is: give the crawl no name of its own")
    if any(sink.replace for sink in submission.sinks):
        raise ConfigurationError(
            "a run of a schedule adds to its outputs, and replaces nothing: who follows a master that died would "
            "empty them once more"
        )
    return ScheduledTask(submission)


def bound_to(name: str, digest: bytes) -> bytes:
    """Returns what the sealed passwords of a schedule are bound to."""
    return b"schedule " + digest + name.encode()


def _asked_injection(inject: Any) -> ScheduledTask:
    job, urls = (inject.get("job"), inject.get("urls")) if isinstance(inject, dict) else (None, None)
    if not isinstance(job, str) or not job:
        raise ConfigurationError("name the job that URLs are put into, as a text: job")
    if not isinstance(urls, list) or not urls:
        raise ConfigurationError("name the URLs that are to be put into the job, as a list: urls")
    return ScheduledTask(None, job, tuple(_checked(urls)))


def _checked(urls: Sequence[Any]) -> list[str]:
    if not all(isinstance(url, str) for url in urls):
        raise ConfigurationError("the URLs that are put into a job are texts")
    return list(dict.fromkeys(map(checked_url, urls)))
