"""Runs public spiders, unchanged, by Scrapy and by p2pcrawl over made-up pages, and compares their items.

    python -m benchmarks.public FOLDER... --scrapy-python VENV/bin/python [--each 4] [--killed] [--show]

Each folder is a checked-out repository. A spider counts when Scrapy has items of it. All runs in a network namespace
of its own that has nothing but loopback (root is needed), since nobody knows what public code asks for.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from benchmarks.public.beside import Pair, PublicSpider, run_beside, spiders_in
from benchmarks.public.killed import run_killed

CLONE_NEWNET = 0x40000000
SHOWN = 1200


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.public", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument(
        "--scrapy-python", nargs="+", required=True, help="a Python that has Scrapy; others with older ones after it"
    )
    parser.add_argument("--each", type=int, default=4, help="how many spiders of each repository at most")
    parser.add_argument("--tried", type=int, default=20, help="how many of each repository to try at most")
    parser.add_argument("--jobs", type=int, default=2, help="repositories at a time")
    parser.add_argument("--only", default="", help="only spiders whose path or name has this in it")
    parser.add_argument("--killed", action="store_true", help="by three masters, one of which is killed in the middle")
    parser.add_argument("--show", action="store_true", help="tell how items differ, and the end of our log")
    asked = parser.parse_args()
    leave_the_network()
    verdicts: Counter[str] = Counter()
    repositories = set()
    with ThreadPoolExecutor(asked.jobs) as pool:
        works = [pool.submit(_pairs_of, folder.resolve(), asked) for folder in asked.folders]
        for work in as_completed(works):
            for pair in work.result():
                verdicts[pair.verdict] += 1
                repositories.add(pair.spider.repository)
    whole = verdicts["equal"] + verdicts["equal but for repeats"]
    print(
        f"{verdicts.total()} spiders of {len(repositories)} repositories: {whole} with equal items"
        f" ({verdicts['equal but for repeats']} of them but for repeats), {verdicts['differs']} with others"
    )
    return 0


def _pairs_of(folder: Path, asked: argparse.Namespace) -> list[Pair]:
    """Runs the spiders of one repository till enough of them count, and tells of each as it comes."""
    pairs: list[Pair] = []
    for spider in [each for each in spiders_in(folder) if asked.only in str(each)][: asked.tried]:
        ran = run_killed(spider, asked.scrapy_python[0]) if asked.killed else _first_pair(spider, asked.scrapy_python)
        if ran is not None:
            pairs.append(ran)
            told = _line(ran)
            print(f"{told}\n{_difference(ran)}" if asked.show and ran.verdict == "differs" else told, flush=True)
        if len(pairs) >= asked.each:
            break
    return pairs


def _first_pair(spider: PublicSpider, pythons: Sequence[str]) -> Pair | None:
    """Runs a spider in the first way in which Scrapy has items of it: in its project, without what that sets, alone."""
    ways = [(spider, False), *([(spider, True), (replace(spider, project=None), True)] if spider.project else [])]
    for python in pythons:
        for each, plain in ways:
            if (pair := run_beside(each, python, plain=plain)) is not None:
                return pair
    return None


def leave_the_network() -> None:
    """Goes into a network namespace that has loopback and nothing else. Raises OSError where that is not allowed."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f"no namespace without a network: {os.strerror(ctypes.get_errno())}")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def _line(pair: Pair) -> str:
    left_out = f", but for {', '.join(sorted(pair.varying))}" if pair.varying else ""
    late = "" if pair.ours.in_time else ", not ended"
    return (
        f"{pair.verdict:22} {pair.spider}  Scrapy {pair.scrapy.items.total()} items of {pair.scrapy.asked} answers, "
        f"p2pcrawl {pair.ours.items.total()} of {pair.ours.asked}{late}{left_out}"
    )


def _difference(pair: Pair) -> str:
    missing = list((pair.scrapy.items - pair.ours.items).elements())
    extra = list((pair.ours.items - pair.scrapy.items).elements())
    told = [f"  {len(missing)} missing: {missing[0][:300]}"] if missing else []
    told += [f"  {len(extra)} more: {extra[0][:300]}"] if extra else []
    return "\n".join([*told, *("  | " + line[:300] for line in pair.ours.log[-SHOWN:].splitlines())])


if __name__ == "__main__":
    raise SystemExit(main())
