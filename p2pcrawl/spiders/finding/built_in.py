"""The components that a crawl has of itself, by the paths that Scrapy has for them."""

from __future__ import annotations

import re

from p2pcrawl.model.errors import ConfigurationError

_PACKAGES = re.compile(
    r"(?:scrapy|p2pcrawl)\.(?:contrib\.)?"
    r"(?:downloadermiddlewares?|spidermiddlewares?|extensions|telnet|statsmailer|slave\.middlewares)\b"
)
_NAMES = frozenset(
    {
        # downloader middlewares
        "AjaxCrawlMiddleware", "CookiesMiddleware", "DefaultHeadersMiddleware", "DownloadTimeoutMiddleware",
        "DownloaderStats", "HttpAuthMiddleware", "HttpCacheMiddleware", "HttpCompressionMiddleware",
        "HttpProxyMiddleware", "MetaRefreshMiddleware", "OffsiteMiddleware", "RedirectMiddleware", "RetryMiddleware",
        "RobotsTxtMiddleware", "UserAgentMiddleware",
        # spider middlewares
        "DepthMiddleware", "HttpErrorMiddleware", "RefererMiddleware", "StartSpiderMiddleware", "UrlLengthMiddleware",
        # extensions
        "AutoThrottle", "CloseSpider", "CoreStats", "FeedExporter", "LogCount", "LogStats", "MemoryDebugger",
        "MemoryUsage", "PeriodicLog", "SpiderState", "StackTraceDump", "Debugger", "StatsMailer", "TelnetConsole",
    }
)  # fmt: skip


def built_in(path: str) -> str:
    """Returns the name of the built-in component that a path stands for; "" for one of people's own. Raises
    ConfigurationError for a path of Scrapy's that nothing stands for.
    """
    if not _PACKAGES.match(path):
        return ""
    name = re.split(r"[.:]", path)[-1]
    if name in _NAMES:
        return name
    if path.startswith("scrapy."):
        raise ConfigurationError(f"{path} is not known here: leave it out")
    return ""
