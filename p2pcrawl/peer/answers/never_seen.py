"""Reasons why a URL may never have been seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches

import msgspec

from p2pcrawl.core.ring.rendezvous import key_hash
from p2pcrawl.frontier.reading.inquiry import Inquiry, JobRow
from p2pcrawl.master.jobs.job import unpack_spec
from p2pcrawl.model.crawl.domains import read_domains, sites_of
from p2pcrawl.model.crawl.job import JobSpec
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.slave.pages.scope import Scope
from p2pcrawl.spiders.finding.answered_names import install_scrapy_names
from p2pcrawl.spiders.loading.load import load_spider

_INDEX = re.compile(r"(index|default|home)\.\w{1,5}", re.IGNORECASE)


def hints(inquiry: Inquiry, jobs: list[JobRow], url: str, other_request: bool) -> list[str]:
    """Lists what may explain that a plain GET of ``url`` is not in the folder; the likeliest first."""
    if other_request:
        return ["the URL is there, but not as a plain GET: another method, a body, chosen headers, or dont_filter"]
    found = [f"seen in another form: {near}" for near in _variants(url) if inquiry.find(near)]
    for job in jobs:
        found += _of_job(inquiry, job, url)
    if not found:
        known = inquiry.urls_of(key_hash(host_of(url)))
        near = get_close_matches(url, known, n=3, cutoff=0.8)
        found += [f"seen, and spelt like it: {other}" for other in near]
        if not known:
            found.append(f"no URL of {host_of(url)} was ever seen")
    if any(job.state == "running" for job in jobs):
        found.append("the crawl has not come to its end: a link to it may still be found")
    elif not found:
        found.append("no page that was crawled led to it")
    return found


def _variants(url: str) -> Iterator[str]:
    """Yields the URLs by which people often mean the same page."""
    scheme, _, rest = url.partition("://")
    yield f"{'http' if scheme == 'https' else 'https'}://{rest}"
    yield f"{scheme}://{rest[4:] if rest.startswith('www.') else 'www.' + rest}"
    path, mark, query = url.partition("?")
    yield (path.rstrip("/") if path.endswith("/") else path + "/") + mark + query
    if query:
        yield path
    # The folder that a page is in is another page, unless the page is the folder's own.
    folder, _, name = path.rpartition("/")
    if _INDEX.fullmatch(name):
        yield f"{folder}/"


def spec_of(inquiry: Inquiry, job: JobRow) -> tuple[JobSpec, Settings]:
    """Returns a job as it was submitted, and its settings. Raises DamagedError."""
    try:
        spec = unpack_spec(job.spec)
        return spec, Settings().updated(spec.settings)
    except (msgspec.MsgspecError, ConfigurationError) as error:
        raise inquiry.damaged(f"job {job.name}: {error}") from error


def _of_job(inquiry: Inquiry, job: JobRow, url: str) -> Iterator[str]:
    spec, settings = spec_of(inquiry, job)
    filtered = {name.partition(":")[2]: n for name, n in job.tallies.items() if name.startswith("filtered:")}
    domains = _domains(spec)
    if domains and settings.offsite_enabled and not Scope(domains).allows(url):
        yield f"off site: {job.name} stays within {', '.join(sorted(domains)[:5])}{', ...' if len(domains) > 5 else ''}"
    if settings.urllength_limit and len(url) > settings.urllength_limit:
        yield f"too long: URLLENGTH_LIMIT is {settings.urllength_limit}, the URL has {len(url)} characters"
    if settings.depth_limit and filtered.get("depth"):
        yield f"perhaps too deep: DEPTH_LIMIT is {settings.depth_limit} and kept out {filtered['depth']:,} links"
    if job.state == "finished" and job.reason:
        yield f"the crawl ended before its queue was empty: {job.reason}"


def _domains(spec: JobSpec) -> list[str]:
    """Returns the domains that the job stays within, as far as that can be told without running the spider."""
    if given := spec.arguments.get("allowed_domains"):
        return read_domains(given)[0]
    if spec.spider.urls:
        return sites_of(spec.spider.urls)
    if spec.settings.get("scrapy_names"):
        install_scrapy_names()
    try:
        domains = load_spider(spec.spider).allowed_domains
    except P2PCrawlError:
        return []
    return read_domains(domains)[0]
