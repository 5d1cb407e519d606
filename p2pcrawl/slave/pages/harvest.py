"""The harvest of one page: what it yields, filtered and made into rows for the master.

Links are dropped as plain strings where possible: lately reported, off site, too deep, too long. Only
what is left is fingerprinted.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING

from p2pcrawl.fetch.components.referrer import PAGE_POLICY
from p2pcrawl.model.crawl.fingerprint import SIZE, Fingerprint, fingerprint
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.request import Request, callback_name
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.outcome import Filter
from p2pcrawl.model.packing import PACKED_MAX, UNPACKED_MAX, packed_size
from p2pcrawl.slave.hooks.left_out import LeftOutExamples
from p2pcrawl.slave.hooks.page_log import left_out
from p2pcrawl.slave.pages.memory import Memory
from p2pcrawl.slave.pages.scope import Scope, UnheardMeta
from p2pcrawl.slave.pages.travel import packed_request
from p2pcrawl.spiders.page.links import LinkBatch, normalise
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.requests.fingerprinter import Identify
from p2pcrawl.wire.messages.imprints import travels
from p2pcrawl.wire.messages.past_form import past_in
from p2pcrawl.wire.messages.slave_messages import LeftOutLink, LinkColumns, Page, Task

if TYPE_CHECKING:
    from p2pcrawl.slave.pages.errands import Errand

LASTMOD_SLACK_S = 86_400
"""Sitemaps tell days where they do not tell times: what changed so long before the last visit of one may be news."""
PART_LINKS = 1_000
PART_BYTES = 1 << 20
"""A page with more than this sends a part ahead."""
PATIENT = 16
"""A page that is tried again sends none before it has so many times as much. Something ended its session before,
perhaps its own callback, which let not even a beat get out. What has sent nothing ahead is whole, and so outlives its
session."""


class Harvest:
    """Collects the links and items of one task; ``take`` gives them as a Page."""

    __slots__ = (
        "_depth",
        "_examples",
        "_follows",
        "_holds_items",
        "_identify",
        "_items",
        "_items_ahead",
        "_keys",
        "_links",
        "_memory",
        "_ordinal",
        "_packed_ahead",
        "_patience",
        "_rows",
        "_scope",
        "_seed",
        "_settings",
        "_since",
        "_size",
        "_unheard",
        "ahead",
        "dropped_items",
        "errand",
        "failed_items",
        "filtered",
        "item_trace",
        "left_out",
        "page_policy",
        "parts",
        "reported",
        "response",
        "task",
        "url",
    )

    def __init__(
        self,
        task: Task,
        settings: Settings,
        scope: Scope,
        memory: Memory,
        *,
        start: bool = False,
        unheard: UnheardMeta | None = None,
        identify: Identify | None = None,
        examples: LeftOutExamples | None = None,
        follows: bool = True,
        holds_items: bool = False,
    ) -> None:
        """``identify``: the identity of requests, where it is the spider's own; ``examples``: knows which links
        that are not followed are to be told; ``follows``: False where none is; ``holds_items``: items that may travel
        with an imprint do not go ahead.
        """
        self._holds_items = holds_items
        self._examples = examples if examples is not None else LeftOutExamples()
        self._identify, self._follows = identify, follows
        self.task = task
        """The task that this is the harvest of."""
        self.url = task.link.url
        self._settings = settings
        self._scope = scope
        self._memory = memory
        self._seed = start
        self._unheard = unheard
        self._depth = 0 if start else task.link.depth + 1
        self._links: list[LinkColumns] = []
        self._items: list[bytes] = []
        self._keys: set[str | bytes] = set()
        self._rows = 0
        self._size = 0
        self._ordinal = 0
        self._since = past_in(task.past).asked - LASTMOD_SLACK_S if task.past else inf
        self._patience = PATIENT if task.attempt > 1 and not start else 1
        self.filtered: Counter[str] = Counter()
        self.left_out: list[LeftOutLink] = []
        """Examples of these."""
        self.dropped_items = 0
        self.reported = 0
        """Links that were taken."""
        self.errand: Errand | None = None
        """The item that waits for this page, where it is a file."""
        self.failed_items = 0
        self.item_trace = ""
        """Where the first of them failed."""
        self.response: Response | None = None
        """The page, where it is one that a callback got."""
        self._items_ahead = self._packed_ahead = 0
        """Bytes of the items in parts, as they are and packed."""
        self.page_policy = ""
        """What the page says about the referrers of its links."""
        self.parts = 0
        self.ahead: deque[int] = deque()
        """The parts that are on their way, by what their outbox calls them."""

    def add_item(self, data: bytes) -> None:
        self._items.append(data)
        self._size += len(data)

    @property
    def has_items(self) -> bool:
        """True if the page has yielded any items."""
        return bool(self._items) or self.items_left

    @property
    def items_left(self) -> bool:
        """True if some of them went ahead."""
        return self._items_ahead > 0

    @property
    def items(self) -> list[bytes]:
        """The items that have not been taken."""
        return self._items

    def take_items(self) -> list[bytes]:
        """Takes the items, which leave the page in another way."""
        items, self._items = self._items, []
        self._size -= sum(map(len, items))
        return items

    def add_link(self, link: Link) -> None:
        """Adds a link as it is, which is nobody's to filter."""
        shared = link._replace(url="", fingerprint=bytes(SIZE))
        self._links.append(LinkColumns(shared, [link.url], link.fingerprint))
        self._rows += 1
        self._size += len(link.url) + len(link.extra)

    def add_links(self, batch: LinkBatch, some: Sequence[str] | None = None) -> None:
        """Adds a whole batch, or some of its URLs; only these differ, so the rest is looked at once."""
        if some is None:
            some = batch.urls
        if not self._follows:
            for url in some:
                self._leave_out(url, Filter.NOT_FOLLOWED)
            return
        if not self._is_plain(batch):
            for url in some:
                self.add_request(batch.request(url))
            return
        filtered, settings, memory, keys, allows = (
            self.filtered,
            self._settings,
            self._memory,
            self._keys,
            self._allowed(batch),
        )
        if settings.depth_limit and self._depth > settings.depth_limit:
            for url in some:
                self._leave_out(url, Filter.DEPTH)
            return
        urls: list[str] = []
        limit, seed, wanted = settings.urllength_limit, self._seed, self._examples.wants(Filter.OFFSITE)
        for url in some:
            if (url in memory and not seed) or url in keys:
                filtered[Filter.SEEN] += 1
            elif limit and len(url) > limit:
                self._leave_out(url, Filter.URL_LENGTH)
            elif not allows(url):
                filtered[Filter.OFFSITE] += 1
                if wanted:
                    self._examples.take(url, Filter.OFFSITE, self.left_out)
            else:
                keys.add(url)
                urls.append(url)
        if urls:
            prints = b"".join([fingerprint(url) for url in urls])
            self._append(urls, prints, batch, self._depth)

    def add_request(self, request: Request, *, redirect: bool = False) -> bool:
        """Adds one request; returns False where it is filtered. A redirect stays at its page's depth."""
        if not self._follows:
            return self._leave_out(request.url, Filter.NOT_FOLLOWED)
        newer = request.changed_at >= self._since
        if not newer and self._was_reported(request):
            self.filtered[Filter.SEEN] += 1
            return False
        url = normalise(request.url)
        settings, depth = self._settings, self.task.link.depth if redirect else self._depth
        if url is None:
            return self._leave_out(request.url, Filter.INVALID)
        if settings.depth_limit and depth > settings.depth_limit:
            return self._leave_out(url, Filter.DEPTH)
        if settings.urllength_limit and len(url) > settings.urllength_limit:
            return self._leave_out(url, Filter.URL_LENGTH)
        if not self._allowed(request)(url):
            self.filtered[Filter.OFFSITE] += 1
            self._examples.take(url, Filter.OFFSITE, self.left_out)
            return False
        self._ordinal += 1
        salt = f"{self.task.link.fingerprint.hex()}.{self._ordinal}" if request.dont_filter else ""
        print_, key = self._known_as(request, url, salt)
        if (key in self._memory and not newer and not self._seed) or key in self._keys:
            self.filtered[Filter.SEEN] += 1
            return False
        self._keys.add(key)
        self._append([url], print_, request, depth, redirect=redirect, changed=int(request.changed_at) if newer else 0)
        return True

    def _leave_out(self, url: str, reason: Filter) -> bool:
        """Counts a link that is not followed, and tells of it. Returns False. Those to other hosts are told of once for
        each host, and those that were met before are only counted.
        """
        self.filtered[reason] += 1
        left_out(url, reason)
        self._examples.take(url, reason, self.left_out)
        return False

    def _was_reported(self, request: Request) -> bool:
        """Tells whether a request is surely one that was reported, by its URL as it stands: most are."""
        url = request.url
        if url not in self._memory and url not in self._keys:
            return False
        return self._is_plain(request) and (not self._seed or url in self._keys)

    def _allowed(self, source: Request | LinkBatch) -> Callable[[str], bool]:
        """Returns the test of where a link may lead. A start URL, or a request that insists, may leave the site."""
        anywhere = self._seed or source.dont_filter or source.meta.get("allow_offsite")
        return _anywhere if anywhere else self._scope.allows

    def add_redirect(self, request: Request) -> None:
        """Adds what a redirect leads to, at the depth of the page."""
        if self.errand is not None:
            self.add_media(request)
        else:
            self.add_request(request, redirect=True)

    def add_media(self, request: Request) -> bool:
        """Adds the request for a file of an item: at the depth of the page, wherever it leads, and never as a start.
        Returns False when its URL cannot be asked for.
        """
        url, limit = normalise(request.url), self._settings.urllength_limit
        if url is None or (limit and len(url) > limit):
            return False
        self._ordinal += 1
        print_ = fingerprint(url, salt=f"{self.task.link.fingerprint.hex()}.{self._ordinal}")
        self._append([url], print_, request, self.task.link.depth, redirect=True, seed=False)
        return True

    def _known_as(self, request: Request, url: str, salt: str) -> tuple[Fingerprint, str | bytes]:
        """Returns the identity of a request, and what this slave remembers it by: the URL where that says all."""
        if self._identify is not None:
            print_ = self._identify(request, salt)
            return print_, bytes(print_)
        headers = self._identifying(request)
        print_ = fingerprint(url, request.method, request.body, headers, salt)
        plain = request.method == "GET" and not request.body and not headers and not salt
        return print_, url if plain else bytes(print_)

    def _is_plain(self, source: Request | LinkBatch) -> bool:
        """Tells whether the URL of a request, or those of a batch, say all about which pages they are."""
        special = source.method != "GET" or source.body or source.dont_filter or self._identify is not None
        return not special and not (self._settings.fingerprint_headers and self._identifying(source))

    def _append(
        self,
        urls: list[str],
        prints: bytes,
        source: Request | LinkBatch,
        depth: int,
        *,
        redirect: bool = False,
        seed: bool | None = None,
        changed: int = 0,
    ) -> None:
        if source.meta and self._unheard is not None:
            self._unheard.look(source.meta)
        seed = self._seed if seed is None else seed
        shared = Link(
            url="",
            fingerprint=bytes(SIZE),
            depth=depth,
            priority=source.priority,
            kind=str(source.kind),
            callback=callback_name(source.callback),
            seed=seed,
            referer="" if seed or redirect or not self._settings.referer_enabled else self.task.link.url,
            extra=packed_request(source, source.meta.get(PAGE_POLICY, "") if redirect else self.page_policy),
        )
        changes = [changed] * len(urls) if changed else []
        if self._links and self._links[-1].shared == shared and bool(self._links[-1].changed) == bool(changes):
            self._links[-1].urls.extend(urls)
            self._links[-1].fingerprints += prints
            self._links[-1].changed.extend(changes)
        else:
            self._links.append(LinkColumns(shared, urls, prints, changes))
        self._rows += len(urls)
        self._size += sum(map(len, urls)) + len(shared.extra)

    def _identifying(self, source: Request | LinkBatch) -> tuple[tuple[str, str], ...]:
        wanted = self._settings.fingerprint_headers
        if not wanted or not source.headers:
            return ()
        names = {w.lower() for w in wanted}
        return tuple((name, value) for name, value in source.headers.lines if name.lower() in names)

    @property
    def gathered(self) -> bool:
        """True if there is anything that has not been taken."""
        return bool(self._links or self._items)

    @property
    def full(self) -> bool:
        """Enough for a part to be sent ahead."""
        return self._rows >= PART_LINKS * self._patience or self._size >= PART_BYTES * self._patience

    def has_room(self, size: int) -> bool:
        """Tells whether an item of this size may be added to what a record has to carry in one message."""
        size += self._size
        return self._items_ahead + size <= UNPACKED_MAX and self._packed_ahead + size <= PACKED_MAX

    def take_part(self) -> Page:
        """Takes what has gathered as :meth:`take` does, with more to come."""
        if held := self._holds_items and travels(self._items):
            items = self.take_items()
        self._items_ahead += sum(map(len, self._items))
        self._packed_ahead += packed_size(self._items)
        part = self.take()
        if held:
            for item in items:
                self.add_item(item)
        return part

    def take(self) -> Page:
        """Takes what has gathered, as (a part of) the task's page. From here on the links count as reported."""
        page = Page(self.task.lease, self.task.record, self.task.job, self._links, self._items)
        self._memory.remember(self._keys)
        self.reported += self._rows
        self._links, self._items, self._keys = [], [], set()
        self._rows = self._size = 0
        self.parts += 1
        return page


def _anywhere(url: str) -> bool:
    return True
