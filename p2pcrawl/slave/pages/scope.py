"""The bounds of a job: the hosts that it stays within, and what its requests ask for in vain."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from p2pcrawl.model.crawl.domains import is_within, read_domains
from p2pcrawl.model.crawl.url import host_of

log = logging.getLogger(__name__)

HOSTS_MAX = 100_000

_PACE = "pace is by host: DOWNLOAD_DELAY, CONCURRENT_REQUESTS_PER_DOMAIN, and what each host asks for"
_RENDERED = "pages are not rendered: a downloader middleware of yours may answer in its place"
UNHEARD: Final[Mapping[str, str]] = {
    "autothrottle_dont_adjust_delay": _PACE,
    "bindaddress": "requests leave by the address that the system chooses",
    "download_fail_on_dataloss": "answers that end before their time always fail, and are tried again",
    "download_slot": _PACE,
    "download_warnsize": "only DOWNLOAD_MAXSIZE is kept to",
    "ftp_password": "only http and https are fetched",  # nosec B105  # It is no password.
    "ftp_user": "only http and https are fetched",
    "give_up_log_level": "what failed is in the summary, and `why URL` tells of it",
    "http_user": "write the request's Authorization header, which stays with its host when it is redirected",
    "playwright": _RENDERED,
    "selenium": _RENDERED,
    "splash": _RENDERED,
    "verbatim_url": "URLs are sent as browsers send them",
    "zyte_api": _RENDERED,
}
"""Keys of meta that mean something elsewhere and nothing here, with what there is instead."""


class Scope:
    """The hosts that a job stays within: those of ``allowed_domains``, whatever form they have; none for no bound."""

    def __init__(self, allowed_domains: Any, enabled: bool = True) -> None:
        self._domains = frozenset(read_domains(allowed_domains)[0] if enabled else ())
        self._known: dict[str, bool] = {}

    def allows(self, url: str) -> bool:
        """Tells whether a URL is within. The first one that leads to another host is told of, with that host."""
        if not self._domains:
            return True
        host = host_of(url)
        verdict = self._known.get(host)
        if verdict is None:
            if len(self._known) > HOSTS_MAX:
                self._known.clear()
            verdict = self._known[host] = is_within(host, self._domains)
            if not verdict:
                log.debug("links to %s are left out: it is not in allowed_domains (the first is %s)", host, url)
        return verdict


class UnheardMeta:
    """Tells once of each key of meta that a spider writes and that does nothing."""

    def __init__(self, logger: logging.LoggerAdapter[logging.Logger]) -> None:
        self._logger = logger
        self._left = set(UNHEARD)

    def look(self, meta: Mapping[str, Any]) -> None:
        """Looks through the meta of one request."""
        if self._left.isdisjoint(meta):
            return
        for name in sorted(self._left.intersection(meta)):
            self._left.remove(name)
            self._logger.warning("meta[%r] has no effect; %s", name, UNHEARD[name])
