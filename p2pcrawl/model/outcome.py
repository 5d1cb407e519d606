"""The ways in which a page can end: the vocabulary of failures and drops.

A ``Failure`` may be retried, by the policy of :mod:`p2pcrawl.core.hosts.retry`. A ``Drop`` is a decision not to fetch
or not to keep, and never is. What is done has a reason only where it is no page. The values are what people read.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Failure(StrEnum):
    """The reason why an attempt failed."""

    DNS = "dns"
    """The name could not be looked up: no name server answered, or it could not find out."""
    NO_NAME = "no-such-name"
    """There is no such name."""
    NETWORK = "network"
    """This machine has no way there, or no more sockets: nothing was learnt of the host."""
    CONNECT = "connect"
    CONNECT_TIMEOUT = "connect-timeout"
    FIRST_BYTE_TIMEOUT = "first-byte-timeout"
    TOTAL_TIMEOUT = "total-timeout"
    TLS = "tls"
    LOST_CONNECTION = "lost-connection"
    PROTOCOL = "protocol"
    """The answer is not HTTP, or its head is over the limits."""
    PROXY = "proxy"
    BANNED = "banned"
    """The host keeps the proxy out that it was asked through."""
    TOO_LARGE = "too-large"
    INFLATE_LIMIT = "inflate-limit"
    BAD_ENCODING = "bad-content-encoding"
    BAD_REDIRECT = "bad-redirect"
    """A redirect without a usable Location, to itself, or one too many."""
    HTTP_429 = "http-429"
    HTTP_5XX = "http-5xx"
    HTTP_4XX = "http-4xx"
    HTTP_OTHER = "http-other"
    CALLBACK = "callback"
    """The spider's code raised; the traceback is kept."""
    ITEM = "item"
    """One of its items failed: a pipeline raised, or it has no form for outputs. What else it led to is kept."""
    MIDDLEWARE = "middleware"
    """A middleware returned the request of this page, so that it is made again."""
    GIVEN_UP = "given-up"
    """A file that nobody was asked for any more: its host is down, or slaves died of it. Its item went on without."""
    STORE = "store"
    """The place that is to keep a file cannot be reached."""
    TOO_SLOW = "too-slow"
    """Decoding it, parsing it or looking for its links took more than ANSWER_CPU_MAX."""
    NOT_STORED = "not-stored"
    """Its raw page was wanted, and there is none."""
    RAW_PAGE_AWAY = "raw-page-away"
    """The same, while a machine is away that may have it."""
    SLAVE_LOST = "slave-lost"
    """The slave that held the lease died or fell silent."""
    HOST_DOWN = "host-down"
    """Its host left every request without an answer for HOST_DOWN_AFTER seconds."""


class Drop(StrEnum):
    """The reason why a record was put aside without being a failure."""

    ROBOTS = "robots"
    ROBOTS_UNREACHABLE = "robots-unreachable"
    """robots.txt answered 5xx or not at all, which RFC 9309 reads as "keep out"."""
    ROBOTS_UNKNOWN_HOST = "robots-unknown-host"
    """It could not even be asked for: the name of its host cannot be looked up."""
    CRAWL_DELAY = "crawl-delay"
    """Its host wants longer pauses between requests than CRAWL_DELAY_MAX."""
    PRIVATE_NETWORK = "private-network"
    IGNORED = "ignored"
    """A component of the chain raised IgnoreRequest."""
    CONTENT_SIGNAL = "content-signal"
    """Its site forbids the purpose of the crawl by Content-Signal, in robots.txt or in the answer."""
    CONTENT_USAGE = "content-usage"
    """It does so by Content-Usage."""
    TDM = "tdm-reservation"
    """It reserves text and data mining (TDMRep)."""
    ROBOTS_TAG = "robots-tag"
    """It forbids the purpose by X-Robots-Tag or ``<meta name="robots">``."""
    DUPLICATE = "duplicate"
    """The text of a page was met before, in this or nearly in this form: its items are left out (DUPLICATES)."""
    INVALID = "invalid"
    """What was to be fetched is no request: only a broken slave or master can have told of it."""
    CLEARED = "cleared"
    """Somebody cleared the queue that it was in. It is queued again where it is found again."""
    NO_BOARD = "board-gone"
    """The board that it is of was taken away, or has reached its limit; or it was an entry, and is none any more."""


class NoPage(StrEnum):
    """The reason why a record is done that is no page for a callback."""

    START = "start"
    """The spider's start has come to its end."""
    REDIRECT = "redirect"
    REQUEUED = "requeued"
    """A middleware had another request made in its place."""
    REQUEUED_UNANSWERED = "requeued-unanswered"
    """It had, after its host was asked and did not answer."""
    ORIGINAL = "original"
    """The text of a page that was met nowhere else before it."""
    MARKED = "marked-duplicate"
    """A text that was met before, as the items of its page say."""
    ASKED_ON = "asked-on"
    """A text that was not met here, and is asked for by its next band."""
    MET = "met"
    """A text that was met before; the items of its page come out behind its last band, where each has one place."""
    STORED = "stored"
    """A file that was kept already."""
    UNCHANGED = "unchanged"
    """A later visit found what an earlier one had found: its items stay what they are."""
    GONE = "gone"
    """It was there at an earlier visit, and is not any more: its items stay what they are."""


GOING_ON: Final = frozenset({NoPage.ASKED_ON, NoPage.MET})
"""The reasons with which an imprint ends whose items have gone on to another one."""
PAGES: Final = frozenset({"", NoPage.UNCHANGED})
"""The reasons with which a record is done that is a page."""


class Filter(StrEnum):
    """The reason why a slave did not report a link at all; counted apart from what was discovered."""

    SEEN = "seen"
    OFFSITE = "offsite"
    DEPTH = "depth"
    URL_LENGTH = "url-length"
    NOT_FOLLOWED = "not-followed"
    """Pages are only read once more, and lead nowhere."""
    INVALID = "invalid"
