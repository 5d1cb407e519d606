"""The cost of a whole crawl into MongoDB, beside the same one into a file: CPU of its processes for each page."""

from __future__ import annotations

import statistics
from pathlib import Path

from benchmarks.kit.measure import Claims, Setup, SiteProcess
from benchmarks.sinks.mongod import direct_client, replica_set

HOSTS = 50
SLAVES = 1
DEARER_MAX = 1.10
SETTINGS = {"CONCURRENT_REQUESTS": 64, "CONCURRENT_REQUESTS_PER_DOMAIN": 64}


def crawl_into_mongo(folder: Path, pages: int, rounds: int) -> Claims:
    """Crawls the same site into both in turns, so that a machine that is busy for a while slows both alike."""
    claims = Claims(
        f"a crawl into MongoDB beside one into a file: {pages} pages, one item each, no delay; {rounds} rounds"
    )
    cost_ms: dict[str, list[float]] = {"file": [], "MongoDB": []}
    with replica_set(1) as servers, SiteProcess("benchmarks.kit.site", "--pages", pages, "--hosts", HOSTS) as site:
        for number in range(rounds):
            for name, output in (
                ("file", folder / f"{number}.jsonl"),
                ("MongoDB", f"mongodb://{servers.hosts}/bench.crawl{number}"),
            ):
                setup = Setup.of_site(folder / f"{name}-{number}", site, (), slaves=SLAVES, settings=SETTINGS)
                setup.outputs = [output]
                ended = setup.run(300)
                claims.claim(f"pages, {name}, round {number + 1}", ended.certificate["pages"], ended.code == 0, "all")
                cost_ms[name].append(1000 * ended.cpu_s / pages)
            with direct_client(servers.hosts) as client:
                found = client["bench"][f"crawl{number}"].count_documents({})
            claims.claim(f"documents, round {number + 1}", found, found == pages, f"{pages}")
    for name, values in cost_ms.items():
        claims.note(f"{name}: CPU ms/page, median", f"{statistics.median(values):.3f}")
    # The least is what the work takes; a busy machine only adds to it.
    dearer = min(cost_ms["MongoDB"]) / min(cost_ms["file"])
    claims.claim("MongoDB, of the file's CPU", f"{dearer:.2f}", dearer <= DEARER_MAX, f"<= {DEARER_MAX}")
    return claims
