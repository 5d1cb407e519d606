"""Scrapy's settings that are not ours: those that we tell of when they are set, and those without effect here.

With the names of :class:`~p2pcrawl.model.crawl.settings.Settings` and their aliases they are all of Scrapy's. Spiders
read what was set all the same: whatever is not ours is kept as an own setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_SPIDER_LOADER = "spiders are found by file or module, and in a project by SPIDER_MODULES"
_REACTOR = "there is no reactor: all runs on asyncio"
_CLUSTER = "the frontier is durable and its order is QUEUE_ORDER: nothing takes its place"
_STORES = "files have the rights that their place gives them"
_MAIL = "no mail is sent: connect to a signal, or give the job a webhook as a sink"
_LOGS = "log lines have one form"
_TELNET = "there is no telnet console: `status` and `why` tell of a crawl that runs"
_FEED = "write FEEDS, or -o: `p2pcrawl crawl SPIDER -o FILE`"
_CLOUD = "object stores take their keys from the environment, or from the sink's options"
_TLS = "TLS is the standard library's: 1.2 and newer, ciphers as OpenSSL has them"

TOLD: Final[Mapping[str, str]] = {
    "AJAXCRAWL_ENABLED": "no host has served #! pages by that scheme since 2015: it is left out",
    "AWS_SESSION_TOKEN": _CLOUD,
    "AWS_USE_SSL": _CLOUD,
    "AWS_VERIFY": _CLOUD,
    "CONCURRENT_REQUESTS_PER_IP": "write CONCURRENT_REQUESTS_PER_DOMAIN: politeness is by host, and hosts that share "
    "an address are not told apart",
    "DEPTH_PRIORITY": "write QUEUE_ORDER=lifo for depth first; breadth first is the default",
    "DNS_RESOLVER": "names are looked up by the system's resolver",
    "DOWNLOADER": "the downloader cannot be replaced: write a downloader middleware, which may answer by itself",
    "DOWNLOADER_CLIENTCONTEXTFACTORY": _TLS,
    "DOWNLOADER_CLIENT_TLS_CIPHERS": _TLS,
    "DOWNLOADER_CLIENT_TLS_METHOD": _TLS,
    "DOWNLOADER_HTTPCLIENTFACTORY": "the HTTP client cannot be replaced: write a downloader middleware",
    "DOWNLOAD_BIND_ADDRESS": "requests leave by the address that the system chooses",
    "DOWNLOAD_FAIL_ON_DATALOSS": "answers that end before their time always fail, and are tried again",
    "DOWNLOAD_HANDLERS": "only http and https are fetched, by our own client: write a downloader middleware, whose "
    "process_request may return a Response",
    "DOWNLOAD_SLOTS": "pace is by host: DOWNLOAD_DELAY, CONCURRENT_REQUESTS_PER_DOMAIN, and what each host asks for",
    "DOWNLOAD_TLS_MAX_VERSION": _TLS,
    "DOWNLOAD_TLS_MIN_VERSION": _TLS,
    "DUPEFILTER_CLASS": "the duplicates of a whole cluster are filtered by fingerprint: FINGERPRINT_HEADERS, or "
    "dont_filter of a request",
    "FEED_EXPORTERS": "formats of one's own are not written: read JSON lines, or write a pipeline",
    "FEED_EXPORT_BATCH_ITEM_COUNT": "write it for each feed, as batch_item_count",
    "FEED_FORMAT": _FEED,
    "FEED_STORAGES": "destinations of one's own are not written to: see docs/sinks.md, or write a pipeline",
    "FEED_STORAGE_FTP_ACTIVE": "FTP is passive",
    "FEED_STORAGE_GCS_ACL": _CLOUD,
    "FEED_STORAGE_S3_ACL": _CLOUD,
    "FEED_STORE_EMPTY": "an output without items is there, and empty",
    "FEED_TEMPDIR": "items wait in the data folder",
    "FEED_URI": _FEED,
    "FEED_URI_PARAMS": "write what is to stand in the address into it: %(name)s, %(time)s and the spider's arguments",
    "FILES_STORE_GCS_ACL": _STORES,
    "FILES_STORE_S3_ACL": _STORES,
    "GCS_PROJECT_ID": _CLOUD,
    "HTTPX_HTTP2_ENABLED": "HTTP/1.1 is spoken",
    "IMAGES_STORE_GCS_ACL": _STORES,
    "IMAGES_STORE_S3_ACL": _STORES,
    "ITEM_PROCESSOR": "items pass ITEM_PIPELINES, and nothing takes their place",
    "JOBDIR": "give the crawl a folder: --data DIR, or Crawler(data=DIR)",
    "MAIL_HOST": _MAIL,
    "MEMUSAGE_LIMIT_MB": "memory is bounded by FRONTIER_MEMORY and DOWNLOAD_MAXSIZE: to end a process that is too "
    "large is for the system (ulimit, a container)",
    "MEMUSAGE_NOTIFY_MAIL": _MAIL,
    "MEMUSAGE_WARNING_MB": "memory is bounded by FRONTIER_MEMORY and DOWNLOAD_MAXSIZE",
    "PERIODIC_LOG_DELTA": "progress is told every LOGSTATS_INTERVAL seconds, and counters stand in --json",
    "PERIODIC_LOG_STATS": "progress is told every LOGSTATS_INTERVAL seconds, and counters stand in --json",
    "REFERRER_POLICIES": "write the policy's name as REFERRER_POLICY",
    "ROBOTSTXT_PARSER": "robots.txt is read as RFC 9309 says",
    "SCHEDULER": _CLUSTER,
    "SCHEDULER_DISK_QUEUE": _CLUSTER,
    "SCHEDULER_MEMORY_QUEUE": _CLUSTER,
    "SCHEDULER_PRIORITY_QUEUE": _CLUSTER,
    "STATSMAILER_RCPTS": _MAIL,
    "STATS_CLASS": "stats add up over all slaves, and stand in --json: write an extension that sends them elsewhere",
    "TWISTED_DNS_RESOLVER": "names are looked up by the system's resolver",
}
"""What to do instead, or what happens anyway; said once when a crawl begins."""

READ: Final = frozenset(
    {
        *("AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL", "AWS_REGION_NAME", "AWS_SECRET_ACCESS_KEY"),
        *("FILES_STORE", "FTP_PASSWORD", "FTP_USER", "IMAGES_STORE"),
        *("LOG_ENABLED", "LOG_FORMATTER", "SPIDER_CONTRACTS"),
    }
)
"""Kept as own settings, and read where Scrapy reads them: by the pipelines for media, the log, and ``check``."""

IDLE: Final[Mapping[str, str]] = {
    "ASYNCIO_EVENT_LOOP": "uvloop's where there is one",
    "AUTOTHROTTLE_DEBUG": "delays are told by `why` and `status`",
    "AWS_MAX_POOL_CONNECTIONS": "parts go to object stores one by one",
    "BOT_NAME": "a name for people; robots.txt is asked by ROBOTSTXT_USER_AGENT or USER_AGENT",
    "COMMANDS_MODULE": "verbs of one's own are scripts",
    "CONCURRENT_ITEMS": "the items of a page pass the pipelines one after the other",
    "DEFAULT_DROPITEM_LOG_LEVEL": "dropped items are counted, and told at DEBUG",
    "DEFAULT_ITEM_CLASS": "loaders are told their item's class",
    "DEPTH_STATS_VERBOSE": "each page's depth is in its record",
    "DNSCACHE_ENABLED": "addresses are kept for DNSCACHE_TTL",
    "DNSCACHE_SIZE": "bounded by itself",
    "DNS_TIMEOUT": "part of CONNECT_TIMEOUT",
    "DOWNLOADER_CLIENT_TLS_VERBOSE_LOGGING": "TLS faults are told with their reason",
    "DOWNLOADER_MIDDLEWARES_BASE": "the built-in components, which DOWNLOADER_MIDDLEWARES replaces by name",
    "DOWNLOAD_DELAY_JITTER": "hosts are asked no sooner than their delay after an answer",
    "DOWNLOAD_HANDLERS_BASE": "http and https",
    "DOWNLOAD_VERIFY_CERTIFICATES": "certificates are verified",
    "DOWNLOAD_WARNSIZE": "DOWNLOAD_MAXSIZE ends what is too large",
    "DUPEFILTER_DEBUG": "duplicates are counted",
    "EDITOR": "nothing is edited",
    "EXTENSIONS_BASE": "what they do is part of the crawl",
    "FEED_EXPORTERS_BASE": "see docs/settings.md, FEEDS",
    "FEED_STORAGES_BASE": "see docs/sinks.md",
    "FORCE_CRAWLER_PROCESS": "there is one kind of process",
    "FTP_PASSIVE_MODE": "ftp:// is not fetched",
    "HTTP2_MAX_FRAME_SIZE": "HTTP/1.1 is spoken",
    "HTTPCACHE_DBM_MODULE": "the HTTP cache is a file of its own",
    "HTTPPROXY_AUTH_ENCODING": "credentials of proxies are sent in UTF-8",
    "HTTPPROXY_ENABLED": "a proxy is used where one is named",
    "ITEM_PIPELINES_BASE": "there is none",
    "LOG_COLOR": _LOGS,
    "LOG_ENCODING": "UTF-8",
    "LOG_FILE_APPEND": "log files are appended to",
    "LOG_INSTALL_ROOT_HANDLER": "scripts set up their own logging",
    "LOG_SHORT_NAMES": _LOGS,
    "LOG_STDOUT": "what spiders print goes where they print it",
    "LOG_VERSIONS": "`p2pcrawl --version` tells",
    "MAIL_FROM": _MAIL,
    "MAIL_PASS": _MAIL,
    "MAIL_PORT": _MAIL,
    "MAIL_SSL": _MAIL,
    "MAIL_TLS": _MAIL,
    "MAIL_USER": _MAIL,
    "MEMDEBUG_ENABLED": "a debugging aid of Scrapy's own",
    "MEMUSAGE_CHECK_INTERVAL_SECONDS": "memory is bounded",
    "MEMUSAGE_ENABLED": "memory is bounded",
    "NEWSPIDER_MODULE": "no spider is generated",
    "PERIODIC_LOG_TIMING_ENABLED": "progress is told every LOGSTATS_INTERVAL seconds",
    "RANDOMIZE_DOWNLOAD_DELAY": "hosts are asked no sooner than their delay after an answer",
    "REACTOR_THREADPOOL_MAXSIZE": _REACTOR,
    "REDIRECT_PRIORITY_ADJUST": "redirects keep their request's priority",
    "REMOTE_CONTROL_ENABLED": "a peer's API controls its jobs",
    "REMOTE_CONTROL_JOBS_DIR": "a peer's API controls its jobs",
    "REMOTE_CONTROL_OUTPUT_MAX_BYTES": "a peer's API controls its jobs",
    "REMOTE_CONTROL_TIMEOUT_DEFAULT": "a peer's API controls its jobs",
    "REMOTE_CONTROL_TIMEOUT_MAX": "a peer's API controls its jobs",
    "REMOTE_CONTROL_TRACEBACK_MAX_BYTES": "a peer's API controls its jobs",
    "REQUEST_FINGERPRINTER_IMPLEMENTATION": "there is one",
    "RETRY_GIVE_UP_LOG_LEVEL": "pages that failed stand in the summary, and are told at DEBUG",
    "RETRY_PRIORITY_ADJUST": "retries wait for their back-off instead",
    "SCHEDULER_DEBUG": "whatever is queued can travel, or is refused where it is made",
    "SCHEDULER_START_DISK_QUEUE": "start URLs are in the frontier like all others",
    "SCHEDULER_START_MEMORY_QUEUE": "start URLs are in the frontier like all others",
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE": "slaves take what they can hold",
    "SPIDER_CONTRACTS_BASE": "contracts are not checked in a crawl",
    "SPIDER_LOADER_CLASS": _SPIDER_LOADER,
    "SPIDER_LOADER_WARN_ONLY": _SPIDER_LOADER,
    "SPIDER_MIDDLEWARES_BASE": "the built-in components, which SPIDER_MIDDLEWARES replaces by name",
    "SPIDER_MODULES": _SPIDER_LOADER,
    "STATS_DUMP": "stats stand in the certificate and in --json",
    "TELNETCONSOLE_ENABLED": _TELNET,
    "TELNETCONSOLE_HOST": _TELNET,
    "TELNETCONSOLE_PASSWORD": _TELNET,
    "TELNETCONSOLE_PORT": _TELNET,
    "TELNETCONSOLE_USERNAME": _TELNET,
    "TEMPLATES_DIR": "nothing is generated",
    "TWISTED_REACTOR": _REACTOR,
    "TWISTED_REACTOR_ENABLED": _REACTOR,
    "WARN_ON_GENERATOR_RETURN_VALUE": "what a generator returns is left alone",
}
"""Why nothing is missed without them; nothing is said when they are set."""

HARMLESS: Final[Mapping[str, tuple[Any, ...]]] = {
    "DOWNLOADER_CLIENT_TLS_CIPHERS": ("DEFAULT",),
    "DOWNLOADER_CLIENT_TLS_METHOD": ("TLS", "TLSv1.2"),
    "DOWNLOAD_FAIL_ON_DATALOSS": (True,),
    "DUPEFILTER_CLASS": ("scrapy.dupefilters.RFPDupeFilter",),
    "FEED_STORE_EMPTY": (True,),
    "ROBOTSTXT_PARSER": ("scrapy.robotstxt.ProtegoRobotParser",),
    "SCHEDULER": ("scrapy.core.scheduler.Scheduler",),
    "SCHEDULER_DISK_QUEUE": ("scrapy.squeues.PickleFifoDiskQueue", "scrapy.squeues.MarshalFifoDiskQueue"),
    "SCHEDULER_MEMORY_QUEUE": ("scrapy.squeues.FifoMemoryQueue",),
    "SCHEDULER_PRIORITY_QUEUE": (
        "scrapy.pqueues.DownloaderAwarePriorityQueue",
        "scrapy.pqueues.ScrapyPriorityQueue",
    ),
    "STATS_CLASS": ("scrapy.statscollectors.MemoryStatsCollector",),
}
"""Values that ask for nothing that is not so here; for other names, those that ask for nothing."""


def is_scrapys(name: str) -> bool:
    """Tells whether a name is one of Scrapy's that is not ours."""
    return name in TOLD or name in IDLE or name in READ


def told_of(own: Mapping[str, Any]) -> Iterator[str]:
    """Yields a line for each setting that is Scrapy's, and does nothing here that would be expected of it."""
    for name, value in sorted(own.items()):
        harmless = HARMLESS.get(name, (None, False, "", 0, {}, []))
        if name in TOLD and value not in harmless:
            yield f"setting {name} has no effect: {TOLD[name]}"
