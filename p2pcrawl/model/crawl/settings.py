"""Settings: frozen, typed, validated once, each default justified where it is defined.

In Python they are lower-case fields; on the command line and in ``custom_settings`` they have
Scrapy's upper-case names, in any case, where the meaning is the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from enum import StrEnum
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from p2pcrawl.model.choosing.article_reader import ArticleReader
from p2pcrawl.model.choosing.duplicate_pages import DuplicatePages, check_duplicates
from p2pcrawl.model.choosing.foreign_names import is_scrapys
from p2pcrawl.model.choosing.proxy_stickiness import ProxyStickiness
from p2pcrawl.model.choosing.reading import Readings
from p2pcrawl.model.choosing.revisit_period import check_periods, revisit_period
from p2pcrawl.model.choosing.setting_bounds import (
    check_log_lines,
    check_numbers,
    check_pattern,
    check_proxies,
)
from p2pcrawl.model.choosing.signature_form import SignatureForm, SignWhen, check_signature
from p2pcrawl.model.choosing.typed_values import as_mapping, converted, names_by_name, weighted
from p2pcrawl.model.cluster.placement import GroupPlacement
from p2pcrawl.model.crawl.allowance import Allowance, allowance_of
from p2pcrawl.model.crawl.cache_policy import CachePolicy, cache_policy_named, check_cache
from p2pcrawl.model.crawl.purpose import ForbiddenPages, Purpose
from p2pcrawl.model.crawl.record import Order, ShardKey
from p2pcrawl.model.crawl.referrer import ReferrerPolicy
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.printable import LINE_FORM
from p2pcrawl.model.reason_choice import pages_named


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Readings):
    """The settings of a crawl: all that a user can choose about it.

    As a mapping (``settings["DEPTH_LIMIT"]``, ``settings.getint("MY_OWN")``) it has them by their upper-case names,
    with the settings that are not ours.
    """

    # -- pace ---------------------------------------------------------------------------------
    concurrent_requests: int = 128
    """Requests open at once over all slaves: enough for a broad crawl at 50 ms, cheap in memory."""
    concurrent_requests_per_domain: int = 8
    """Requests open at once to one host while it has no delay (Scrapy's default)."""
    download_delay: float | None = None
    """Seconds from the end of one answer of a host to the next request. None: 1 s, but none for
    loopback and private hosts that a start URL named."""
    autothrottle_enabled: bool = False
    autothrottle_start_delay: float = 5.0
    autothrottle_max_delay: float = 60.0
    autothrottle_target_concurrency: float = 1.0
    retry_after_max: float = 600.0
    """A host's Retry-After is obeyed up to this many seconds."""

    # -- robots.txt ---------------------------------------------------------------------------
    robotstxt_obey: bool = True
    robotstxt_user_agent: str = ""
    """The name looked up in robots.txt; the user agent's product name when empty. See ``robots_agent``."""
    crawl_delay_max: float = 600.0
    """Pages of a host whose Crawl-delay is longer are left out: at that pace hardly any would be fetched, and one host
    would keep the whole crawl from ending. Asking more often than it wants would be rude. 0: any is waited for."""

    # -- usage signals ------------------------------------------------------------------------
    purpose: tuple[Purpose, ...] = ()
    """What the pages are for; sites that forbid it are obeyed. None: signals are not asked for, as a crawler that only
    fetches does not use."""
    purpose_forbidden: ForbiddenPages = ForbiddenPages.LEAVE_OUT
    """What happens to pages that forbid the purpose: ``leave-out``, or ``mark``: fetched and counted."""
    usage_field: str = ""
    """The field of each item that is given what its page's site says about uses; "": none."""

    # -- requests -----------------------------------------------------------------------------
    user_agent: str = "p2pcrawl/0.1"
    user_agents: Mapping[str, float] = field(default_factory=dict)
    """User agents by weight, a list of them, or ``file:PATH`` with one a line. Each host, or session, is shown one,
    with the headers that it sends. Rules of robots.txt are looked up under ``robots_agent`` all the same."""
    session_pool: int = 0
    """Sessions (cookies, user agent, proxy) that requests without one of their own are given, in each slave."""
    session_uses_max: int = 50
    """Requests after which a session of the pool ends; 0: none does for that."""
    default_request_headers: Mapping[str, str] = field(
        default_factory=lambda: {
            "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "Accept-Language": "en",
        }
    )
    cookies_enabled: bool = True
    cookies_debug: bool = False
    """Cookies that are sent and received are logged, at level DEBUG."""
    http_user: str = ""
    http_pass: str = ""
    http_auth_domain: str = ""
    """The host that the credentials are for; required with http_user, so that they never leak."""
    http_proxy: str = ""
    """A proxy for every request, as http://user:password@host:port; a request's meta["proxy"] wins."""
    httpproxy_enabled: bool = True
    """Whether proxies of the environment (http_proxy, https_proxy, no_proxy) are used where http_proxy is not set."""
    proxy_pool: tuple[str, ...] = ()
    """Where proxies come from: ``file:PATH``, ``url:https://...``, ``command:...``, ``class:package.module.Class``, and
    proxies themselves. Read on each machine with slaves. Empty: no pool."""
    proxy_pool_max: int = 200
    """Proxies that are kept ready at most, in each slave."""
    proxy_pool_min: int = 50
    """With fewer than these ready others are verified, up to the maximum."""
    proxy_check_url: str = ""
    """A page by which proxies are verified. Empty: they are not, and a lying one is not found."""
    proxy_check_pattern: str = ""
    """A regular expression that its answer matches; empty: it is what comes without a proxy, byte by byte."""
    proxy_check_period: float = 300.0
    """Seconds until a proxy is verified again, and the sources are asked again."""
    proxy_check_timeout: float = 10.0
    proxy_sticky: ProxyStickiness = ProxyStickiness.SESSION
    proxy_ban_codes: tuple[int, ...] = (403, 429, 503)
    """Statuses by which a host keeps a proxy out."""
    proxy_ban_pattern: str = ""
    """A regular expression for pages that say so, looked for in their first 64 KiB."""
    proxy_ban_class: str = ""
    """A class, ``package.module.Class``, whose ``is_banned(request, answer)`` says so."""
    proxy_rest: float = 60.0
    """Seconds for which a proxy that a host keeps out rests for that host; doubled each time in a row."""
    proxy_rest_max: float = 3600.0
    proxy_retry_times: int = 10
    """Attempts after the first of a page whose proxies were kept out, or brought no answer."""
    signature_key: str = ""
    """A file with the key that requests are signed with (``p2pcrawl keygen --bot``), by its path on each machine with
    slaves: the key itself does not travel. "": requests are not signed."""
    signature_agent: str = ""
    """The origin, as https://bot.example, at which hosts find the public half of the key; required with the key."""
    signature_when: SignWhen = SignWhen.ALWAYS
    signature_ttl: float = 60.0
    """Seconds for which a signature is valid. Whoever sees one can use it for its host as long."""
    signature_covers: tuple[str, ...] = ()
    """Parts of a request that are signed besides its authority (``@method``, ``@path`` ...): a signature is worth less
    to others then, and made for each request."""
    signature_nonce: bool = False
    """Each request has a signature of its own, with a nonce."""
    signature_form: SignatureForm = SignatureForm.DICTIONARY
    """The form of Signature-Agent."""
    referer_enabled: bool = True
    referrer_policy: ReferrerPolicy = ReferrerPolicy.STRICT_ORIGIN_WHEN_CROSS_ORIGIN
    """How much of a page's address the hosts it links to are told: what browsers do. Scrapy tells other hosts all."""
    cross_origin_headers: tuple[str, ...] = ()
    """Request headers, beside the plain ones, that may go to other hosts than those they were meant for; ``*``: all."""
    fingerprint_headers: tuple[str, ...] = ()
    """Request headers that are part of a request's identity."""
    request_fingerprinter_class: str = ""
    """A class of people's own, as ``module.Class``, whose ``fingerprint(request)`` returns the bytes that a request is
    known by. Empty: method, canonical URL, body and fingerprint_headers."""

    # -- limits of one fetch ------------------------------------------------------------------
    connect_timeout: float = 10.0
    first_byte_timeout: float = 30.0
    download_timeout: float = 60.0
    """The whole fetch. Scrapy waits 180 s, in which one slow host can hold its slots too long."""
    download_maxsize: int = 32 * 1024 * 1024
    """Bytes of a body, before and after inflating. Scrapy's 1 GiB would exhaust a slave."""
    header_maxsize: int = 64 * 1024
    """Bytes of an answer's head."""
    compression_enabled: bool = True
    dnscache_ttl: float = 300.0

    # -- redirects and retries ----------------------------------------------------------------
    redirect_enabled: bool = True
    redirect_max_times: int = 20
    metarefresh_enabled: bool = True
    metarefresh_ignore_tags: tuple[str, ...] = ("noscript",)
    metarefresh_maxdelay: float = 100.0
    """A page that wants to be shown longer is no redirect."""
    retry_enabled: bool = True
    retry_times: int = 2
    """Attempts after the first (Scrapy's default)."""
    retry_http_codes: tuple[int, ...] = (500, 502, 503, 504, 522, 524, 408, 429)
    retry_exceptions: tuple[str, ...] = ()
    """Classes of what is tried again, among failures without an answer and what middlewares raise; none: the failures
    that may pass with time."""
    retry_backoff: float = 1.0
    """Seconds before the first retry; doubled for each one after it."""
    retry_backoff_max: float = 300.0
    host_down_after: float = 300.0
    """Seconds without an answer after which what is queued for a host is put aside; 0: never. A server that
    is restarted is back by then."""
    slave_losses_max: int = 5
    """Times that a page may be in the hands of a slave that dies before it is put aside."""
    answer_cpu_max: float = 1.0
    """Seconds of computing that one call into the library may take on an answer (decoding, parsing, selecting, links)
    before the page is failed as too slow; 0: any. 32 MiB of plain HTML are parsed in less."""
    slave_silence: float = 60.0
    """Seconds without a sign of life (a callback that never returns) before a slave is replaced; also how long
    a callback may await one thing before its page is failed."""

    # -- HTTP cache ---------------------------------------------------------------------------
    httpcache_enabled: bool = False
    httpcache_dir: str = "httpcache"
    """A folder on each machine that fetches; what is no whole path is in the user's own folder for caches."""
    httpcache_policy: CachePolicy | str = CachePolicy.DUMMY
    """``dummy``: what was answered once is the answer; ``rfc9111``: as browsers do. Scrapy's paths name them, too."""
    httpcache_size_max: int = 1 << 30
    """Bytes of the folder; what was not used for longest goes first. Scrapy's grows for ever."""
    httpcache_expiration_secs: float = 0.0
    """Answers that are older are not used; 0: any are."""
    httpcache_ignore_http_codes: tuple[int, ...] = ()
    httpcache_ignore_schemes: tuple[str, ...] = ("file",)
    httpcache_ignore_missing: bool = False
    """Pages that are not in the cache are left out."""
    httpcache_ignore_response_cache_controls: tuple[str, ...] = ()
    """Directives of hosts that ``rfc9111`` passes over."""
    httpcache_always_store: bool = False
    """``rfc9111`` stores also what it may not use unasked, unless that says no-store."""
    httpcache_gzip: bool = False
    """Bodies are compressed on disk."""
    httpcache_storage: str = ""
    """Scrapy's name for its kind of store; ours is one file. Of Scrapy's own each means ours, any other is refused."""

    # -- scope --------------------------------------------------------------------------------
    depth_limit: int = 0
    """0: none."""
    urllength_limit: int = 2083
    offsite_enabled: bool = True
    allow_private_networks: Allowance = False
    """True opens every loopback and private address to this crawl, a list those names (``*.name``: all below it),
    addresses and networks; link-local and metadata stay shut. Start URLs' own hosts need not be named."""
    crawlspider_follow_links: bool = True
    """Whether a CrawlSpider follows links; false: its rules' callbacks see the start URLs' pages only."""
    httperror_allow_all: bool = False
    httperror_allowed_codes: tuple[int, ...] = ()

    # -- frontier -----------------------------------------------------------------------------
    queue_order: Order = Order.PRIORITY
    shard_key: ShardKey = ShardKey.HOST
    """What a cluster shares out by: ``host``, ``domain`` or ``url``."""
    frontier_memory: int = 200_000
    """URLs held in memory, over all hosts; the rest waits on disk."""

    # -- revisits -----------------------------------------------------------------------------
    revisit_index: float | str = 0.0
    """After how many seconds index pages are asked again: a number, ``adaptive``, or 0 for never. With periods a crawl
    does not end by itself. A request's meta["revisit"] wins."""
    revisit_detail: float | str = 0.0
    """The same of detail pages."""
    revisit_min: float = 300.0
    """The shortest adaptive period, with which it begins."""
    revisit_max: float = 30 * 86_400.0
    """The longest period of any page, and that of pages that are gone."""
    revisit_host_budget: int = 0
    """Visits of known pages per host and hour; 0: as many as its pace allows."""
    revisit_rounds: int = 0
    """How often each page is visited at all, before the crawl ends; 0: for ever."""

    retry_failed_after: float = 0.0
    """Failed pages are visited again after so many seconds; 0: never. Till then the crawl does not end."""
    retry_failed_times: int = 3
    """How often at most."""
    retry_failed_reasons: tuple[str, ...] = ("host-gone", "http-5xx", "http-429")
    """Of pages that failed for these reasons, as ``why --summary`` tells them; none: whatever it was."""

    stored_pages_of: int = 0
    """The number of a job of the cluster: its stored pages are read again, in place of the web; 0: none. `p2pcrawl
    reextract` sets it."""

    # -- spider, items, ending ----------------------------------------------------------------
    article_reader: ArticleReader = ArticleReader.TRAFILATURA
    """Who finds the articles of pages: ``trafilatura``, or ``resiliparse`` where speed is all."""
    duplicates: DuplicatePages = DuplicatePages.KEPT
    """What happens to items of pages that say what another page said before: ``mark``, ``drop``, or nothing."""
    duplicates_near: int = 0
    """Bits of 64 that may differ between texts that count as the same; 0: they are equal but for white space."""
    duplicates_field: str = "duplicate_of"
    """The field of each item that says of which page it is a duplicate."""
    item_pipelines: Mapping[str, int | None] = field(default_factory=dict)
    """Classes by where they are, and their order; None: it takes no part."""
    downloader_middlewares: Mapping[str, int | None] = field(default_factory=dict)
    """People's own, and built-in ones that are to stand elsewhere; None: it takes no part."""
    spider_middlewares: Mapping[str, int | None] = field(default_factory=dict)
    addons: Mapping[str, int | None] = field(default_factory=dict)
    """Classes that change settings before the crawl begins."""
    extensions: Mapping[str, int | None] = field(default_factory=dict)
    """People's own; those that Scrapy has built in are part of a crawl anyway."""
    downloader_stats: bool = True
    """Whether each slave counts its fetches under Scrapy's names."""
    scrapy_names: bool = False
    """Slaves answer ``import scrapy`` of the spider's code with p2pcrawl's names; ``--scrapy`` sets it. On one machine
    there is one slave then, unless ``slaves`` says otherwise."""
    closespider_pagecount: int = 0
    closespider_itemcount: int = 0
    closespider_timeout: float = 0.0
    closespider_errorcount: int = 0
    closespider_pagecount_no_item: int = 0
    closespider_timeout_no_item: float = 0.0
    feeds: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Where items go, in Scrapy's words: addresses, each with a mapping of options. Read where a crawl is begun, and
    not kept with the job: passwords may stand in it."""
    feed_export_fields: Mapping[str, str] = field(default_factory=dict)
    """The fields that outputs get which say nothing of it themselves, in this order, and what they are called there;
    none: all, and in CSV those of the first item. A list of names is read, too."""
    feed_export_encoding: str = "utf-8"
    """All is written in UTF-8: ``utf-8-sig`` lets CSV files begin with a byte order mark, and of others it is told."""
    feed_export_indent: int = 0
    """Spaces by which what is in an item is set off, in JSON files; 0: each item is a line."""
    feed_csv_safe: bool = True
    """Cells of CSV that a spreadsheet would run as formulas get an apostrophe, and control characters are left out."""

    # -- processes and talk -------------------------------------------------------------------
    slaves: int | None = None
    """Slave processes; None: as many as cores. 0: everything in one process."""
    group_placement: GroupPlacement = GroupPlacement.BOUNDED
    """Which slave gets a host: ``bounded`` by measured throughput, ``host-bucket`` by MD5. Its master's choice: a peer
    is told by ``--placement``."""
    log_level: str = "INFO"
    log_file: str = ""
    log_format: str = LINE_FORM
    """The form of a line, in the words of Python's ``logging``."""
    log_dateformat: str = ""
    """The form of its time, in the words of ``strftime``; empty: ISO 8601 with milliseconds."""
    logstats_interval: float = 10.0
    """Seconds between progress lines where there is no terminal."""

    own: Mapping[str, Any] = field(default_factory=dict)
    """Settings that are not ours, by their upper-case names: plain data that components and spiders read."""

    def __post_init__(self) -> None:
        check_numbers({name: getattr(self, name) for name in _TYPES}, _TYPES)
        self._check_words()

    def _check_words(self) -> None:
        if self.http_user and not self.http_auth_domain:
            raise ConfigurationError("HTTP_USER needs HTTP_AUTH_DOMAIN, the host that the credentials are for")
        check_signature(self.signature_key, self.signature_agent, self.signature_covers)
        check_proxies(self.http_proxy, self.proxy_pool, self.proxy_check_url)
        check_pattern("PROXY_CHECK_PATTERN", self.proxy_check_pattern)
        check_pattern("PROXY_BAN_PATTERN", self.proxy_ban_pattern)
        if self.log_level.upper() not in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"):
            raise ConfigurationError(f"LOG_LEVEL is DEBUG, INFO, WARNING, ERROR or CRITICAL, not {self.log_level!r}")
        check_log_lines(self.log_format, self.log_dateformat)
        for purpose in self.purpose:
            if purpose not in list(Purpose):
                raise ConfigurationError(f"PURPOSE is some of {', '.join(Purpose)}, not {purpose!r}")
        check_duplicates(self.duplicates, self.duplicates_near, self.duplicates_field)
        if self.httpcache_enabled:
            check_cache(self.httpcache_dir, self.httpcache_storage)
        for agent in self.user_agents:
            if not agent.isprintable():
                raise ConfigurationError(f"USER_AGENTS: {agent!r} is no line of text")
        for reason in self.retry_failed_reasons:
            pages_named(reason)
        check_periods(self.revisit_index, self.revisit_detail, self.revisit_min, self.revisit_max)
        if self.session_pool > 1_000:
            raise ConfigurationError("SESSION_POOL is 1,000 at most: so many jars of cookies are kept")
        if "\n" in self.user_agent or "\r" in self.user_agent:
            raise ConfigurationError("USER_AGENT must be one line")

    @property
    def robots_agent(self) -> str:
        """The name to look up in robots.txt: as set, else the user agent's product name.

        Of ``Mozilla/5.0 (compatible; SomeBot/1.0)`` that is SomeBot, for it is what site owners write.
        """
        return self.robotstxt_user_agent or _product(self.user_agent)

    @property
    def reads_stored_pages(self) -> bool:
        """True if nobody is asked for anything: the pages are those that another job has stored."""
        return self.stored_pages_of > 0

    @property
    def reads_usage(self) -> bool:
        """True if sites are asked what may be done with their content."""
        return bool(self.purpose or self.usage_field)

    @property
    def robots_key(self) -> str:
        """The name under which a host's robots.txt is known: by agent, and by whether statements about uses are among
        it.
        """
        return f"{self.robots_agent} +usage" if self.reads_usage else self.robots_agent

    @property
    def reads_robots(self) -> bool:
        """True if robots.txt has to be known before a page is fetched."""
        return self.robotstxt_obey or self.reads_usage

    def updated(self, values: Mapping[str, Any], source: str = "settings") -> Settings:
        """Returns these settings with some values replaced.

        Names may be written in any case; text values are read by the field's type. An upper-case name that is not ours
        is kept as an own setting. Raises ConfigurationError for any other, naming the nearest one that is ours.
        """
        changes: dict[str, Any] = {}
        own = dict(self.own)
        for given, value in values.items():
            if given == "own":
                own.update(as_mapping(Any, value))
            elif is_ours(given):
                name = field_of(given)
                changes[name] = _read(name, value)
            else:
                check_names([given], source)
                own[given] = value
        if own != self.own:
            changes["own"] = own
        return replace(self, **changes)

    def get(self, name: str, default: Any = None) -> Any:
        """Returns a setting by its upper-case name, whether it is ours or not."""
        if is_ours(name):
            return getattr(self, field_of(name))
        return self.own.get(name, default)

    def __getitem__(self, name: str) -> Any:
        return self.get(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (is_ours(name) or name in self.own)

    def __iter__(self) -> Iterator[str]:
        """Iterates over the upper-case names of all settings."""
        yield from (f.name.upper() for f in fields(self) if f.name != "own")
        yield from self.own

    def keys(self) -> Iterator[str]:
        return iter(self)

    def items(self) -> Iterator[tuple[str, Any]]:
        return ((name, self.get(name)) for name in self)

    def getpriority(self, name: str) -> int | None:
        """Returns 20, that of a project, for what was set, and 0 for a default: a crawl that runs knows no more."""
        if is_ours(name):
            return 20 if field_of(name) in self.differences() else 0
        return 20 if name in self.own else None

    def copy_to_dict(self) -> dict[str, Any]:
        """Returns all settings by their upper-case names, as plain data."""
        return {name: _plain(value) for name, value in self.items()}

    def chosen(self) -> dict[str, Any]:
        """Returns what differs from the defaults, by upper-case names."""
        own = ((name, value) for name, value in self.own.items())
        return {name.upper(): value for name, value in self.differences().items() if name != "own"} | dict(own)

    def differences(self) -> dict[str, Any]:
        """Returns the fields that differ from the defaults, as plain data that can travel."""
        default = _DEFAULTS
        return {
            f.name: _plain(getattr(self, f.name))
            for f in fields(self)
            if getattr(self, f.name) != getattr(default, f.name)
        }


def field_of(name: str) -> str:
    """Returns the field that a name of ours, in any case, stands for."""
    return _ALIASES.get(name.lower(), name.lower())


def is_ours(name: str) -> bool:
    """Tells whether a name, in any case, is that of one of our settings."""
    return field_of(name) in _TYPES and name.lower() != "own"


def check_names(names: Iterable[str], source: str) -> None:
    """Raises ConfigurationError for a name that is neither ours nor in upper case."""
    for name in names:
        if not is_ours(name) and not name.isupper():
            raise ConfigurationError(_unknown(name, source))


def near_misses(own: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yields those own settings whose names are nearly ours, with these; a plural is meant."""
    for name in own:
        near = _nearest(name, 0.9)
        if near and not is_scrapys(name) and name.lower() != near + "s":
            yield name, near.upper()


def check_typed(names: Iterable[str], source: str) -> None:
    """Raises ConfigurationError for a name that was typed and is nearly one of ours, naming that: nobody means both."""
    for name in names:
        if not is_ours(name) and not is_scrapys(name.upper()) and _nearest(name, 0.85):
            raise ConfigurationError(_unknown(name, source))


_ALIASES = {
    "httpproxy": "http_proxy",
    "httpauth_user": "http_user",
    "httpauth_pass": "http_pass",  # nosec B105  # The name of a setting.
    "httpauth_domain": "http_auth_domain",
    "concurrent_requests_per_host": "concurrent_requests_per_domain",
    "referer_policy": "referrer_policy",
    "robots_obey": "robotstxt_obey",
    "loglevel": "log_level",
    "logfile": "log_file",
}


def _product(user_agent: str) -> str:
    name = re.match(r"\s*mozilla/\S+\s+\(compatible;\s*([^/\s;)]+)", user_agent, re.IGNORECASE)
    name = name or re.match(r"\s*([^/\s(;]*)", user_agent)
    return name[1] if name else ""


def _unknown(name: str, source: str) -> str:
    near = _nearest(name, 0.6)
    hint = f"; did you mean {near.upper()}?" if near else ""
    return f"unknown setting {name!r} in {source}{hint}"


def _nearest(name: str, cutoff: float) -> str:
    return next(iter(get_close_matches(name.lower(), _TYPES, n=1, cutoff=cutoff)), "")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, StrEnum) else value


def _read(name: str, value: Any) -> Any:
    """Reads a value of the field's type, from text or plain data."""
    wanted = _TYPES[name]
    if wanted == Allowance:
        try:
            return allowance_of(value)
        except ValueError as error:
            raise ConfigurationError(
                f"setting {name.upper()} is true, false, or names, addresses and networks with commas between them: "
                f"{error}"
            ) from error
    if name in _READ_WHOLLY:
        return _READ_WHOLLY[name](value)
    if name in _READ_FIRST:
        value = _READ_FIRST[name](value)
    optional = get_origin(wanted) in (Union, UnionType)
    if value is None and not optional:
        return getattr(_DEFAULTS, name)
    if optional:
        if value is None or (isinstance(value, str) and value.lower() in ("", "none", "auto")):
            return None
        wanted = next(t for t in get_args(wanted) if t is not type(None))
    try:
        return converted(wanted, value)
    except (TypeError, ValueError, OverflowError) as error:
        if name == "feeds":  # Passwords may stand in it.
            how = f" ({error})" if isinstance(error, json.JSONDecodeError) else ""
            raise ConfigurationError(
                f"setting FEEDS is a mapping from addresses to mappings of options, in text as JSON{how}"
            ) from None
        if isinstance(wanted, type) and issubclass(wanted, StrEnum):
            choices = ", ".join(filter(None, wanted))
            raise ConfigurationError(f"setting {name.upper()} is one of {choices}, not {value!r}") from error
        if name == "purpose":
            raise ConfigurationError(f"setting PURPOSE is some of {', '.join(Purpose)}, not {value!r}") from error
        kind = getattr(wanted, "__name__", str(wanted)).lower()
        raise ConfigurationError(f"setting {name.upper()} needs a value of type {kind}, not {value!r}") from error


_READ_WHOLLY: dict[str, Callable[[Any], Any]] = {
    "httpcache_policy": lambda value: CachePolicy.DUMMY if value is None else cache_policy_named(value),
    "revisit_index": lambda value: revisit_period(value, "setting REVISIT_INDEX"),
    "revisit_detail": lambda value: revisit_period(value, "setting REVISIT_DETAIL"),
}
"""What reads those that are of no plain type."""
_READ_FIRST = {"feed_export_fields": names_by_name, "user_agents": weighted}
"""What makes the plain form of what has several."""
_TYPES: dict[str, Any] = get_type_hints(Settings)
_DEFAULTS = Settings()
