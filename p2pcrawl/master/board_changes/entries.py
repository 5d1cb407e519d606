"""Entries that come into a job which is there already. Each goes to the owner of its bucket, as a page's link does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from p2pcrawl.fetch.connection.guard import opened_by
from p2pcrawl.master.company.company import Company
from p2pcrawl.master.jobs.admission import Admission
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.links.dispatch import Hold, Parcel
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.page_link import Link


def no_callback(url: str) -> str:
    """Returns the callback of entries that are for the spider's default one."""
    return ""


async def bring_entries(
    company: Company,
    admission: Admission,
    job: Job,
    urls: Sequence[str],
    callback: Callable[[str], str] = no_callback,
) -> None:
    """Returns when all of these normalised URLs are safe with their owners. ``callback``: of each of them."""
    # What they open is on disk here before any of them leaves, and goes along with them.
    await admission.learn_opened({job.id: {host for url in urls if (host := opened_by(url))}})
    ground, settled = company.ground, asyncio.Event()
    # One more than there are links, until all are on their way: none may let the last one be counted off too early.
    hold, own = Hold(1, settled.set), list[Parcel]()
    for url in dict.fromkeys(urls):
        link = Link(url, fingerprint(url), seed=True, callback=callback(url))
        bucket = ground.keys.bucket(job.settings.shard_key, url, link.fingerprint)
        parcel = Parcel(link, bucket, hold)
        if (owner := company.router.owner(bucket)) is not None:
            company.send(job.id, owner, parcel)
        else:
            hold.waiting += 1
            own.append(parcel)
    if own:
        ground.mailbox.take_back(job.id, own)
    company.flush()
    hold.count_off()
    await settled.wait()
