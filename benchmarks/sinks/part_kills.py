"""Crawls of real masters into part files, while masters are killed with -9: one comes back, one never does."""

from __future__ import annotations

import contextlib
import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from benchmarks.kit.measure import Claims, Overdue, until
from benchmarks.masters.trial import Plan, Trial

DELIVERED_S = 60.0
SYNCED_S = 30.0
ENDING = ".jsonl.gz"
BACK, GONE = 0.2, 0.6
"""The part of the pages that is fetched when the one that comes back dies, and when the other one does."""

Files = Mapping[str, bytes]
"""What lies in the folder of the parts, by its name there."""


def kill_writers(folder: Path, plan: Plan, address: str, files: Callable[[], Files]) -> Claims:
    """Kills two masters in mid-crawl: in the end there is one item for each page, in the parts that count, and in all
    that lie there. ``address``: of the parts, as ``-o`` takes it; ``files`` reads them.
    """
    with Trial(folder, "part files, a master killed that comes back, and one for ever", plan, [address]) as trial:
        trial.until_fetched(int(BACK * plan.pages))
        victim = trial.peers.living[-1]
        trial.kill([victim])
        trial.start(victim.data)
        until(lambda: not _unsynced(trial), SYNCED_S, "all has its copies again", every_s=0.2)
        trial.until_fetched(int(GONE * plan.pages))
        trial.kill([trial.peers.living[0]])
        trial.claims.note("pages fetched after the last kill", plan.pages - trial.fetched)
        trial.conclude()
        with contextlib.suppress(Overdue):
            until(lambda: _is_whole(plan.pages, files()), DELIVERED_S, every_s=1.0)
        found = files()
        trial.claims.note("parts", len(listed(found)))
        for what, names in (("by the manifests", listed(found)), ("by their names", globbed(found))):
            _claim_urls(trial, what, Counter(urls(found, names)))
    return trial.claims


def files_in(folder: Path) -> Files:
    """Reads a folder of this machine."""
    found = {}
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):  # A stray that is removed just now.
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def listed(files: Files) -> list[str]:
    """Returns the parts that count."""
    manifests = [json.loads(data) for name, data in files.items() if name.startswith("_manifests/")]
    return [part["name"] for manifest in manifests for part in manifest["parts"]]


def globbed(files: Files) -> list[str]:
    """Returns the parts that lie there."""
    return [name for name in files if name.startswith("part-")]


def urls(files: Files, names: Iterable[str]) -> list[str]:
    """Returns the URL of every item in these parts; of a part that is named and does not lie there, none."""
    lying = [files[name] for name in names if name in files]
    return [json.loads(line)["url"] for data in lying for line in gzip.decompress(data).splitlines()]


def _unsynced(trial: Trial) -> int:
    copies = trial.peers.living[0].ask("status")["copies"]
    return int(copies["unsynced"] + copies["moving"])


def _is_whole(pages: int, files: Files) -> bool:
    names = listed(files)
    if set(names) != set(globbed(files)):  # Also where a manifest was read later than the parts that it names.
        return False
    return len(urls(files, names)) >= pages


def _claim_urls(trial: Trial, what: str, found: Counter[str]) -> None:
    pages = trial.plan.pages
    missing = set(trial.site.ask("/_urls")) - set(found)
    twice = sum(n - 1 for n in found.values())
    trial.claims.claim(f"items {what}", found.total(), found.total() == pages, f"{pages}")
    trial.claims.claim(f"items twice, {what}", twice, twice == 0, "none")
    trial.claims.claim(f"pages without an item, {what}", len(missing), not missing, "none")
