"""The components that every crawl has, in the positions that Scrapy gives them.

On the way to the network a request passes them from the lowest to the highest order; its answer
passes them the other way.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping
from random import Random

from p2pcrawl.core.visitors.session_pool import SessionPool
from p2pcrawl.fetch.components.chain import Component
from p2pcrawl.fetch.components.cookies import Cookies, CookieTalk
from p2pcrawl.fetch.components.meta_refresh import MetaRefresh
from p2pcrawl.fetch.components.own_headers import Home, OwnHeaders, was_downgraded
from p2pcrawl.fetch.components.proxy_choice import Proxy, ProxyChoice
from p2pcrawl.fetch.components.redirect import Redirect
from p2pcrawl.fetch.components.robots import RobotsRules
from p2pcrawl.fetch.components.signed_requests import SignedRequests, signer_of
from p2pcrawl.fetch.components.status import HttpStatus, Retry
from p2pcrawl.fetch.components.usage import UsageSignals
from p2pcrawl.fetch.components.visitors import Sessions, SessionWatch, UserAgents
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import host_of, origin_of
from p2pcrawl.model.errors import IgnoreRequest
from p2pcrawl.model.http.headers import Headers
from p2pcrawl.model.outcome import Drop

log = logging.getLogger(__name__)

RulesFor = Callable[[str], RobotsRules | None]


def default_components(
    settings: Settings,
    rules_for: RulesFor,
    handled: Collection[int] | None = None,
    home: Home | None = None,
    retried: tuple[type[BaseException], ...] = (),
) -> list[Component]:
    """Builds the components that ``settings`` ask for. ``handled``: the spider's handle_httpstatus_list; None:
    it has none. ``home``: the job's hosts. ``retried``: what is tried again, besides statuses.
    """
    statuses = HttpStatus(settings, handled)
    components: list[Component] = [
        DefaultHeaders(settings.default_request_headers, OwnHeaders(settings.cross_origin_headers), home or Home()),
        UserAgent(settings.user_agent),
        statuses,
    ]
    if settings.user_agents:
        components.append(UserAgents(settings.user_agents))
    if settings.session_pool:
        pool = SessionPool(settings.session_pool, settings.session_uses_max, Random().randrange)
        components += [Sessions(pool), SessionWatch(settings, pool)]
    if settings.retry_enabled:
        components.append(Retry(settings, statuses, retried))
    if settings.robotstxt_obey:
        components.append(RobotsCheck(rules_for, settings.crawl_delay_max))
    if settings.reads_usage:
        components.append(UsageSignals(settings, rules_for))
    if (signer := signer_of(settings)) is not None:
        components.append(SignedRequests(signer, settings.signature_when))
    if settings.http_user:
        components.append(HttpAuth(settings.http_user, settings.http_pass, settings.http_auth_domain))
    if settings.redirect_enabled:
        components.append(Redirect(settings, handled))
        if settings.metarefresh_enabled:
            components.append(MetaRefresh(settings, handled))
    if settings.cookies_enabled:
        components.append(Cookies())
        if settings.cookies_debug:
            components.append(CookieTalk())
    if choice := ProxyChoice(settings):
        components.append(Proxy(choice))
    return components


class Disallowed(IgnoreRequest):
    """robots.txt keeps us out; ``drop`` says whether by a rule, by the pauses that it wants, or because it could not be
    had, and ``why`` says so in words.
    """

    def __init__(self, drop: Drop, url: str, why: str = "robots.txt forbids it") -> None:
        super().__init__(f"{drop}: {url}")
        self.drop = drop
        self.why = why


class RobotsCheck(Component):
    """Raises Disallowed for what robots.txt forbids, and where it wants pauses above ``crawl_delay_max`` seconds, if
    that is not 0. ``meta["dont_obey_robotstxt"]`` skips it.
    """

    order = 100

    def __init__(self, rules_for: RulesFor, crawl_delay_max: float = 0.0) -> None:
        self._rules_for = rules_for
        self._crawl_delay_max = crawl_delay_max

    def process_request(self, request: Request) -> None:
        if request.meta and request.meta.get("dont_obey_robotstxt"):
            return
        rules = self._rules_for(origin_of(request.url))
        if rules is None:
            return
        if not rules.allowed(request.url):
            raise Disallowed(Drop.ROBOTS_UNREACHABLE if rules.unreachable else Drop.ROBOTS, request.url)
        if 0.0 < self._crawl_delay_max < (rules.crawl_delay or 0.0):
            pauses = f"its host wants pauses of {rules.crawl_delay:,.0f} s between requests"
            most = f"more than CRAWL_DELAY_MAX ({self._crawl_delay_max:g} s)"
            raise Disallowed(Drop.CRAWL_DELAY, request.url, f"{pauses}, {most}")


class HttpAuth(Component):
    """Basic authentication for one domain and what is below it; not where a redirect led from https to http."""

    order = 300

    def __init__(self, user: str, password: str, domain: str) -> None:
        self._domain = domain.lower().rstrip(".")
        self._below = "." + self._domain
        self._value = "Basic " + b64encode(f"{user}:{password}".encode()).decode()

    def process_request(self, request: Request) -> None:
        host = host_of(request.url)
        if (host == self._domain or host.endswith(self._below)) and not was_downgraded(request):
            request.headers.setdefault("Authorization", self._value)


class DefaultHeaders(Component):
    """Headers for requests that do not bring their own. Those that may be secrets go to the job's hosts only."""

    order = 400

    def __init__(self, headers: Mapping[str, str], own: OwnHeaders, home: Home) -> None:
        self._headers = Headers({name: value for name, value in headers.items() if name not in own})
        self._own = {name: value for name, value in headers.items() if name in own}
        self._home = home
        self._told = False

    def process_request(self, request: Request) -> None:
        request.headers.fill(self._headers)
        if self._own:
            self._add_own(request)

    def _add_own(self, request: Request) -> None:
        if self._home.has(request):
            for name, value in self._own.items():
                request.headers.setdefault(name, value)
        elif not self._told:
            self._told = True
            log.info(
                "%s of DEFAULT_REQUEST_HEADERS is for the hosts of start URLs and allowed_domains: %s does not get it "
                "(headers that CROSS_ORIGIN_HEADERS names go to all)",
                ", ".join(self._own),
                host_of(request.url),
            )


class UserAgent(Component):
    """The User-Agent for requests that do not bring their own."""

    order = 500

    def __init__(self, user_agent: str) -> None:
        self._headers = Headers({"User-Agent": user_agent})

    def process_request(self, request: Request) -> None:
        request.headers.fill(self._headers)
