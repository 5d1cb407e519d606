"""``demo``: three masters crawl a synthetic site, one of them is killed, another one comes; and a check of the result.

The crawl is made to last by the delay between two requests to a host, so that there is something to look at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from p2pcrawl.cli.cluster.control import certificate_words
from p2pcrawl.cli.cluster.results_verb import fetch
from p2pcrawl.cli.screen.terminal import Terminal
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.client.remote import Remote
from p2pcrawl.core.control import ENDS
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.crawler import new_event_loop
from p2pcrawl.demo.checks import Check, ask_site, checks_of, readable_output, tell_checks, urls_in
from p2pcrawl.demo.demo_peers import DemoCluster, DemoPeer
from p2pcrawl.demo.process import site_process
from p2pcrawl.demo.sight import Sight
from p2pcrawl.master.jobs.certificate import flaws
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.overlay.tasks import end
from p2pcrawl.peer.answers.submission import submission_of

MASTERS = 3
KILL_AT = 0.3
"""The share of the pages that is done when a master is killed."""
NEXT_MASTER_S = 2.0
"""How long one may look at two masters before the new one comes."""


@dataclass(frozen=True, slots=True)
class ClusterDemo:
    """The choices of whoever types ``demo``. ``stay``: the cluster stays until Ctrl-C, to be looked at."""

    pages: int
    hosts: int
    slaves: int
    seconds: float
    level: str
    stay: bool

    @property
    def delay_s(self) -> float:
        """Between two requests to a host, so that the crawl takes about as long as was asked for."""
        return round(self.seconds * self.hosts / self.pages, 3)


def run_cluster(output: str, demo: ClusterDemo) -> int:
    """Serves, starts masters, crawls, kills, checks, tells. 1 when a check fails."""
    path = readable_output(output)
    terminal = Terminal()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_tell(terminal, path, demo))


async def _tell(terminal: Terminal, path: Path, demo: ClusterDemo) -> int:
    try:
        async with (
            site_process("p2pcrawl.demo.site", "--pages", str(demo.pages), "--hosts", str(demo.hosts)) as site,
            DemoCluster(demo.slaves, demo.level) as cluster,
        ):
            terminal.say(
                f"a site of {site['pages']:,} good pages on {len(site['hosts'])} loopback hosts: {site['start']}"
            )
            code = await _Story(terminal, path, demo, site, cluster).run()
            if demo.stay:
                terminal.say(f"the cluster stays, at http://{cluster.peers[0].api}/, until Ctrl-C")
                await asyncio.Event().wait()
            return code
    except RuntimeError as error:
        raise P2PCrawlError(str(error)) from error


class _Story:
    """The story of the demo: each thing that happens to its cluster, in order, told as it happens."""

    def __init__(
        self, terminal: Terminal, path: Path, demo: ClusterDemo, site: dict[str, Any], cluster: DemoCluster
    ) -> None:
        self._terminal = terminal
        self._path = path
        self._demo = demo
        self._site = site
        self._cluster = cluster
        self._in_hand = 0
        """How many pages the killed master may have had in hand."""

    async def run(self) -> int:
        """Returns the exit code."""
        first = await self._cluster.start()
        await asyncio.gather(*(self._cluster.start() for _ in range(MASTERS - 1)))
        names = ", ".join(peer.name for peer in self._cluster.peers)
        slaves = counted(self._demo.slaves, "slave")
        self._say(f"{MASTERS} masters with {slaves} each: {names}")
        self._say(f"the dashboard: http://{first.api}/ (or `p2pcrawl top`, `p2pcrawl status` in another terminal)")
        remote = first.remote()
        job = await self._submit(remote)
        sight = Sight(remote, job, self._terminal)
        looking = asyncio.create_task(sight.run())
        try:
            await self._live_through(sight, remote, looking)
            certificate = sight.job["certificate"]
        finally:
            await end([looking])
        for line in certificate_words(certificate, list(flaws(certificate))):
            self._say(line)
        await asyncio.to_thread(fetch, remote, job, str(self._path))
        return tell_checks(self._terminal, await self._checks(sight.job, certificate), self._path)

    async def _submit(self, remote: Remote) -> int:
        hosts = self._site["hosts"]
        chosen = {"allow_private_networks": tuple(hosts), "download_delay": self._demo.delay_s}
        submission = submission_of(
            self._site["start"], Settings(), chosen, {"allowed_domains": ",".join(hosts)}, label="demo"
        )
        job = int((await asyncio.to_thread(remote.post, "/v1/jobs", submission.plain()))["job"])
        self._say(f"job {job}: {self._demo.delay_s:g} s between two requests to a host")
        return job

    async def _live_through(self, sight: Sight, remote: Remote, looking: asyncio.Task[None]) -> None:
        """Lets the crawl have a death, a newcomer, an end, and a final certificate."""
        await sight.until(lambda: sight.settled(MASTERS), f"{MASTERS} masters agree")
        enough = KILL_AT * self._site["pages"]
        await sight.until(lambda: bool(sight.job) and (sight.job["pages"] >= enough or _over(sight)), "pages come")
        dead = self._cluster.peers[-1]
        await self._kill(sight, dead)
        await asyncio.sleep(NEXT_MASTER_S)
        newcomer = await self._cluster.start()
        self._say(f"one more command, one more machine: {newcomer.name} joins")
        await sight.until(lambda: sight.settled(MASTERS), "the new master has its share")
        share = next(member["share"] for member in sight.masters() if member["id"] == newcomer.id)
        self._say(f"{newcomer.name} has {round(share * BUCKETS)} of {BUCKETS:,} buckets now, handed over by the others")
        await sight.until(lambda: _over(sight) and sight.job["certificate"] is not None, "the crawl is finished")
        self._say(f"the crawl is {sight.job['state']}; not final yet: {dead.name} may know of more")
        self._say(f"{dead.name} will not come back: p2pcrawl forget {dead.name}")
        await asyncio.to_thread(remote.post, f"/v1/members/{dead.id}/forget", {})
        await sight.until(lambda: bool(sight.job["certificate"] and sight.job["certificate"]["final"]), "it is final")

    async def _kill(self, sight: Sight, dead: DemoPeer) -> None:
        told_of = next((m for m in sight.masters() if m["id"] == dead.id), {"share": 0.0})
        self._in_hand = max(len(self._site["hosts"]), sight.job["leased"])
        await self._cluster.kill(dead)
        had = f"it had {round(told_of['share'] * BUCKETS)} of {BUCKETS:,} buckets"
        self._say(f"kill -9 {dead.process.pid}: master {dead.name} is gone, its slaves with it; {had}")
        noticed = await sight.until(lambda: sight.state_of(dead.id) not in ("alive", "suspect"), "the death is noticed")
        served = noticed + await sight.until(lambda: sight.settled(MASTERS - 1), "its buckets are served")
        self._say(f"the others noticed after {noticed:.1f} s, and serve its buckets after {served:.1f} s")

    async def _checks(self, job: dict[str, Any], certificate: dict[str, Any]) -> list[Check]:
        truth = await asyncio.to_thread(ask_site, self._site["control"], "/_truth")
        stats = await asyncio.to_thread(ask_site, self._site["control"], "/_stats")
        urls = await asyncio.to_thread(urls_in, self._path)
        counts = {**job, "verified": bool(job["conserved"])}
        return [*checks_of(truth, stats, counts, urls, self._in_hand), *_certified(certificate)]

    def _say(self, line: str) -> None:
        self._terminal.say(line)


def _certified(certificate: dict[str, Any]) -> Iterator[Check]:
    found = list(flaws(certificate))
    signed = f"the certificate is final, and signed by {counted(len(certificate['parts']), 'master')}"
    yield Check(certificate["final"] and not found, signed, "; ".join(found))
    copies = certificate["copies"]
    yield Check(
        copies["kept"] == copies["asked"],
        f"{copies['asked']} masters hold each record",
        f"only {copies['kept']} do" if copies["kept"] != copies["asked"] else "",
    )


def _over(sight: Sight) -> bool:
    return sight.job.get("state") in ENDS
