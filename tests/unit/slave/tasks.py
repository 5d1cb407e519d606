"""Tasks, and a link that keeps what is sent through it."""

from __future__ import annotations

from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.wire.messages.codec import encode
from p2pcrawl.wire.messages.slave_messages import Message, Report, ReportsDurable, Task


class FakeLink:
    """Has no other end."""

    closed = False

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.error: Exception | None = None

    def send(self, message: Message) -> int:
        frame = encode(message)
        self.sent.append(message)
        return len(frame)

    def abort(self, error: Exception | None = None) -> None:
        self.closed, self.error = True, error

    @property
    def reports(self) -> list[Report]:
        return [m for m in self.sent if isinstance(m, Report)]

    @property
    def acks(self) -> list[ReportsDurable]:
        return [ReportsDurable(report.sequence) for report in self.reports]


def task_of(url: str = "http://a.example/", **changes: object) -> Task:
    """A granted page; ``changes`` are of the task or of its link."""
    facts = {"url": url, "fingerprint": fingerprint(url), "depth": 1}
    facts |= {name: changes.pop(name) for name in Link._fields if name in changes}
    return Task(**({"lease": 1, "record": 1, "job": 1, "link": Link(**facts), "attempt": 1} | changes))
