"""``demo --one``: a synthetic site, a crawl of it in one process tree, and a check of what it brought back."""

from __future__ import annotations

import asyncio
from pathlib import Path

from p2pcrawl.cli.crawl import crawl_on_loop
from p2pcrawl.cli.screen.summary import INTERRUPTED, summary
from p2pcrawl.cli.screen.terminal import Terminal
from p2pcrawl.crawler import Crawler, new_event_loop
from p2pcrawl.demo.checks import ask_site, checks_of, readable_output, tell_checks, urls_in
from p2pcrawl.demo.process import site_process
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import P2PCrawlError


def run_one(output: str, *, pages: int, hosts: int, slaves: int | None = None, level: str = "INFO") -> int:
    """Serves, crawls, checks, tells. 1 when a check fails."""
    path = readable_output(output)
    terminal = Terminal()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_demo(terminal, path, pages, hosts, slaves, level))


async def _demo(terminal: Terminal, path: Path, pages: int, hosts: int, slaves: int | None, level: str) -> int:
    try:
        async with site_process("p2pcrawl.demo.site", "--pages", str(pages), "--hosts", str(hosts)) as site:
            terminal.say(
                f"serving {site['pages']:,} good pages on {len(site['hosts'])} loopback hosts, from {site['start']}"
            )
            crawler = Crawler(
                site["start"],
                outputs=[SinkSpec(str(path), replace=True)],
                slaves=slaves,
                settings={
                    "log_level": level,
                    "logstats_interval": 2.0,
                    "allow_private_networks": tuple(site["hosts"]),
                },
                arguments={"allowed_domains": ",".join(site["hosts"])},
            )
            ending = await crawl_on_loop(terminal, crawler, again="p2pcrawl demo --one")
            for line in summary(ending):
                terminal.say(line)
            if ending.interrupted:
                return INTERRUPTED
            truth = await asyncio.to_thread(ask_site, site["control"], "/_truth")
            stats = await asyncio.to_thread(ask_site, site["control"], "/_stats")
            checks = checks_of(truth, stats, ending.certificates[0], await asyncio.to_thread(urls_in, path))
            return tell_checks(terminal, checks, path)
    except RuntimeError as error:
        raise P2PCrawlError(str(error)) from error
