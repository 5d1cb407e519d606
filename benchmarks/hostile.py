"""The hostile site, crawled: ``python -m benchmarks.hostile``.

Every trap must end as it may end, memory must stay bounded, ordinary hosts must be complete, and what is out of reach
must not have been reached.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.kit.measure import Claims, Setup, SiteProcess, ask_frontier, items_of

MIB = 1024 * 1024
GUARDED_HOSTS = ["169.254.169.254", "[::ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "0.0.0.0", "127.0.0.1", "localhost"]
GUARDED_HOSTS += ["[::1]", "[::ffff:7f00:1]"]
"""In scope on purpose: it is the guard that must refuse them. Of loopback only the site's own hosts are open."""


def hostile(folder: Path, slaves: int, rss_mib_max: int, settings: Mapping[str, object]) -> Claims:
    """Runs one crawl of all traps, not so deep that calendars matter."""
    claims = Claims(f"hostile site: {slaves} slaves, {' '.join(f'{k}={v}' for k, v in settings.items())}")
    with SiteProcess("tests.sites.hostile") as site:
        opened = {"ALLOW_PRIVATE_NETWORKS": ",".join(site.hosts)}
        all_settings = {"DEPTH_LIMIT": 7, "RETRY_TIMES": 1, **opened, **settings}
        setup = Setup.of_site(folder, site, slaves=slaves, settings=all_settings)
        setup.arguments = {**setup.arguments, "allowed_domains": " ".join([*site.hosts, *GUARDED_HOSTS])}
        ended = setup.run(600)
        stats, certificate = site.stats(), ended.certificate
    traps = site.ready["traps"]
    claims.claim("exit code", ended.code, ended.code == 0, "0")
    claims.note("seconds", f"{ended.wall_s:.1f}")
    claims.note("CPU seconds", f"{ended.cpu_s:.1f}")
    rss_mib = ended.peak_rss_bytes // MIB
    claims.claim("peak RSS (MiB)", rss_mib, rss_mib <= rss_mib_max, f"<= {rss_mib_max}")
    losses = certificate["slave_losses"]
    claims.claim("slaves lost", losses, not losses, "none")
    claims.claim("conserved", certificate["conserved"], certificate["conserved"] is True)
    claims.claim("forbidden requests", f"{stats['forbidden'][:3] or 0}", not stats["forbidden"], "none")
    items = Counter(item["url"] for item in items_of(folder / "items.jsonl"))
    ordinary = [url for url in site.ready["ordinary"] if items[url] == 1]
    total = len(site.ready["ordinary"])
    claims.claim("ordinary pages", len(ordinary), len(ordinary) == total == stats["ordinary_hit"], str(total))
    claims.claim("ordinary pages repeated", stats["ordinary_repeated"], not stats["ordinary_repeated"], "none")
    taken = max(stats["sent_bytes"].items(), key=lambda row: row[1])
    claims.note("most taken from one trap", f"{taken[0]} {taken[1] // MIB} MiB")
    ends = _ends(folder / "data")
    for name, trap in traps.items():
        _claim_end(claims, name, trap, ends)
    claims.note("failures and drops", {**certificate["failed_by_reason"], **certificate["dropped_by_reason"]})
    return claims


def _ends(data: Path) -> dict[str, tuple[str, str, list[str]]]:
    """Returns by URL how it ended, the detail, and how the pages that it redirected to ended."""
    rows = ask_frontier(data, "SELECT id, parent, url, phase, reason FROM record")
    details = dict(ask_frontier(data, "SELECT record, detail FROM attempt ORDER BY number"))
    words = {record: _word(phase, reason) for record, _, _, phase, reason in rows}
    children: dict[int, list[str]] = {}
    for record, parent, *_ in rows:
        children.setdefault(parent, []).append(words[record])
    return {url: (words[record], details.get(record, ""), children.get(record, [])) for record, _, url, *_ in rows}


def _word(phase: int, reason: str) -> str:
    """Returns the word of the traps' table for how a page ended."""
    if phase == 3:
        return "redirected" if reason == "redirect" else "done"
    return reason if phase else "queued"


def _claim_end(
    claims: Claims, name: str, trap: Mapping[str, Any], ends: Mapping[str, tuple[str, str, list[str]]]
) -> None:
    end, detail, after = ends.get(trap["url"], ("not found", "", []))
    said = detail.strip().splitlines()
    row = f"{end}{': ' + said[-1][:70] if said else ''}"
    claims.claim(name, row, end in trap["ends"], " or ".join(trap["ends"]) if end not in trap["ends"] else "")
    if end == "redirected" and trap["then"]:
        wrong = [word for word in after if word not in trap["then"]]
        claims.claim(f"{name}, then", ", ".join(after) or "filtered", not wrong, "" if not wrong else f"{trap['then']}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slaves", type=int, default=2)
    parser.add_argument("--rss", type=int, default=600, help="the most resident memory of the tree, MiB")
    parser.add_argument("-s", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    settings = dict(each.split("=", 1) for each in options.settings)
    with tempfile.TemporaryDirectory(prefix="p2pcrawl-") as folder:
        return hostile(Path(folder), options.slaves, options.rss, settings).print()


if __name__ == "__main__":
    raise SystemExit(main())
