"""Every page of the synthetic site once, one item each: ``python -m benchmarks.coverage --slaves 2``."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.kit.measure import Claims, Setup, SiteProcess, claim_items


def coverage(folder: Path, pages: int, hosts: int, slaves: int, *, size: int = 20_000) -> Claims:
    """Runs one crawl that nothing disturbs, and checks that it covers the site."""
    claims = Claims(f"coverage: {pages} pages, {hosts} hosts, {slaves} slaves")
    with SiteProcess("benchmarks.kit.site", "--pages", pages, "--hosts", hosts, "--size", size) as site:
        ended = Setup.of_site(folder, site, slaves=slaves).run(120 + pages / 100)
        stats, hits = site.stats(), site.hits()
    certificate = ended.certificate
    claims.claim("exit code", ended.code, ended.code == 0, "0")
    claims.claim("pages fetched", stats["distinct"], stats["distinct"] == pages, "all")
    claims.claim("fetched twice", stats["duplicates"], stats["duplicates"] == 0, "none")
    claims.claim("robots.txt", stats["robots"], stats["robots"] == hosts, "one per host")
    claim_items(claims, folder / "items.jsonl", list(hits))
    claims.claim("conserved", certificate["conserved"], certificate["conserved"] is True)
    # The start() of the spider is a record too.
    claims.claim("done", certificate["done"], certificate["done"] == certificate["discovered"] == pages + 1)
    claims.note("seconds", f"{ended.wall_s:.1f}")
    return claims


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--slaves", type=int, nargs="*", default=[0, 1, 2])
    options = parser.parse_args()
    code = 0
    for slaves in options.slaves:
        with tempfile.TemporaryDirectory(prefix="p2pcrawl-") as folder:
            code |= coverage(Path(folder), options.pages, options.hosts, slaves).print()
    return code


if __name__ == "__main__":
    raise SystemExit(main())
