"""Speed beside Scrapy and beside a bare loop, interleaved in one run: ``python -m benchmarks.speed --reps 3``.

pages/s is over the time from the first to the last page request, as the site saw them; CPU is user and system of the
whole process tree, start-up included; RSS is the sum over the tree of each process's peak. With ``--shared DIR`` the
site, the bare loop and the Scrapy spider are those of DIR instead of our own. With ``--warc`` each of our crawls is
made a second time with its raw pages kept.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.kit.measure import ROOT, SPIDERS, Claims, SiteProcess, Watched

CONCURRENCY = 64
SCRAPY_FACTOR = 5.0
MIB = 1024 * 1024
IDIOMATIC_FACTOR = 3.3
IDIOMATIC = SPIDERS.with_name("idiomatic.py")
VENVS = ROOT / "build" / "benchmarks"
KEEP_MEMORY = {
    "MALLOC_TRIM_THRESHOLD_": "268435456",
    "MALLOC_MMAP_THRESHOLD_": "268435456",
    "MALLOC_TOP_PAD_": "16777216",
}


@dataclass
class Case:
    """One crawler. ``command`` has START, OUT, HOSTS and RAW in it."""

    name: str
    pages: int
    command: list[str]
    env: Mapping[str, str] = field(default_factory=dict)
    runs: list[dict[str, float]] = field(default_factory=list)

    def median(self, what: str) -> float:
        return statistics.median(run[what] for run in self.runs)


class SharedSite:
    """The site of ``--shared``, asked as our own is."""

    def __init__(self, folder: Path, pages: int, port: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(folder / "site.py"), "--pages", str(pages), "--port", str(port)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.start = self._process.stdout.readline().split()[-1]
        self.hosts = [f"127.1.0.{number}" for number in range(1, 201)]
        self._control = f"http://127.0.0.1:{port}"
        os.sched_setaffinity(self._process.pid, {max(os.sched_getaffinity(0))})

    def __enter__(self) -> SharedSite:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()

    def reset(self) -> None:
        self._get("/_reset")

    def stats(self) -> dict[str, Any]:
        return dict(json.loads(self._get("/_stats")))

    def _get(self, path: str) -> bytes:
        with urllib.request.urlopen(self._control + path, timeout=30) as answer:
            return bytes(answer.read())


class OwnSite(SiteProcess):
    def __init__(self, pages: int) -> None:
        super().__init__("benchmarks.kit.site", "--pages", pages, "--last-core")

    def reset(self) -> None:
        self.ask("/_reset")


def run_case(case: Case, site: OwnSite | SharedSite, folder: Path) -> dict[str, float]:
    """Runs one crawl of the whole site. Raises RuntimeError when it did not fetch and tell every page."""
    out = folder / "items.jsonl"
    raw = folder / "raw"
    out.unlink(missing_ok=True)
    shutil.rmtree(raw, ignore_errors=True)
    site.reset()
    places = {"START": site.start, "OUT": str(out), "HOSTS": " ".join(site.hosts), "RAW": str(raw)}
    command = [_filled(part, places) for part in case.command]
    with Watched(command, folder, case.env) as crawl:
        ended = crawl.wait(600)
    stats = site.stats()
    told = out.read_bytes().count(b"\n") if out.exists() else 0
    if ended.code or stats["distinct"] != case.pages or not case.pages <= told <= case.pages + 1:
        raise RuntimeError(
            f"{case.name}: exit code {ended.code}, {stats['distinct']} of {case.pages} pages, {told} items\n"
            f"{ended.said[-2000:]}"
        )
    return {
        "pages/s": case.pages / stats["span"],
        "with start-up": case.pages / ended.wall_s,
        "CPU ms/page": 1000 * ended.cpu_s / case.pages,
        "site CPU ms/page": 1000 * stats["server_cpu"] / case.pages,
        "RSS MiB": ended.peak_rss_bytes / MIB,
        "twice": stats["duplicates"],
        "raw bytes/page": sum(path.stat().st_size for path in raw.glob("*.warc.gz")) / case.pages,
    }


def _filled(part: str, places: Mapping[str, str]) -> str:
    for name, value in places.items():
        part = part.replace(name, value)
    return part


def cases(options: argparse.Namespace) -> list[Case]:
    raw = (False, True) if options.warc else (False,)
    found = [_ours(slaves, options.pages, warc) for slaves in (0, 1, 2) for warc in raw]
    found += [_ours(slaves, options.pages, False, IDIOMATIC) for slaves in (0, 2)]
    if options.shared:
        crawlers = options.shared / "crawlers"
        bare = [_venv("bare", "aiohttp", "uvloop", "selectolax", "orjson"), str(crawlers / "bare.py")]
        scrapy = [str(crawlers / "scrapy_spider.py")]
        bare_end, scrapy_end = ["full"], ["css", "uvloop", "twisted"]
    else:
        bare, scrapy = (
            [sys.executable, "-m", "benchmarks.kit.bare"],
            [str(ROOT / "benchmarks" / "kit" / "scrapy_spider.py")],
        )
        bare_end, scrapy_end = [], []
    places = ["START", "OUT", str(CONCURRENCY)]
    found.append(Case("bare loop", options.pages, [*bare, *places, *bare_end], KEEP_MEMORY))
    if not options.no_scrapy:
        python = options.scrapy_python or _venv("scrapy", "scrapy==2.19.0", "uvloop")
        found.append(Case("scrapy, css", options.scrapy_pages, [python, *scrapy, *places, *scrapy_end]))
    return [case for case in found if options.only in case.name]


def _ours(slaves: int, pages: int, warc: bool, spider: Path = SPIDERS) -> Case:
    command = [sys.executable, "-m", "p2pcrawl", "crawl", str(spider), "-o", "OUT", "--slaves", str(slaves), "--json"]
    command += ["-s", f"CONCURRENT_REQUESTS={CONCURRENCY}", "-s", f"CONCURRENT_REQUESTS_PER_DOMAIN={CONCURRENCY}"]
    command += ["-a", "start_urls=START", "-a", "allowed_domains=HOSTS", *(["--warc", "RAW"] if warc else [])]
    style = ", raw" if warc else ", css" if spider is IDIOMATIC else ""
    return Case(f"p2pcrawl, {slaves} slaves{style}", pages, command)


def _venv(name: str, *packages: str) -> str:
    """Returns the Python of an environment of its own, made when it is first asked for."""
    folder = VENVS / name
    python = folder / "bin" / "python"
    if not (folder / "made").exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--clear", str(folder)], check=True)
        subprocess.run(
            [
                _pip_python(),
                "-m",
                "pip",
                "--disable-pip-version-check",
                "--python",
                str(python),
                "install",
                "-q",
                *packages,
            ],
            check=True,
        )
        (folder / "made").touch()
    return str(python)


def _pip_python() -> str:
    """Returns a Python that has pip: the environment that runs this may have been made without."""
    for python in (sys.executable, "python3", "python"):
        with contextlib.suppress(OSError):
            if subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0:
                return python
    raise RuntimeError("no Python with pip was found to install Scrapy with")


@contextlib.contextmanager
def sites(options: argparse.Namespace, wanted: set[int]) -> Iterator[dict[int, OwnSite | SharedSite]]:
    """Runs a site for each number of pages, all of them up for the whole block."""
    with contextlib.ExitStack() as stack:
        found: dict[int, OwnSite | SharedSite] = {}
        for port, pages in enumerate(sorted(wanted), 8810):
            site = SharedSite(options.shared, pages, port) if options.shared else OwnSite(pages)
            stack.enter_context(site)
            found[pages] = site
        yield found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--scrapy-pages", type=int, default=10_000)
    parser.add_argument("--only", default="", help="part of a crawler's name")
    parser.add_argument("--no-scrapy", action="store_true", help="leave Scrapy out (it is installed for this)")
    parser.add_argument("--scrapy-python", default="", help="the Python of an environment that has Scrapy and uvloop")
    parser.add_argument("--warc", action="store_true", help="also with raw pages kept")
    parser.add_argument("--shared", type=Path, help="a folder with site.py and crawlers/ to compare with")
    options = parser.parse_args()
    todo = cases(options)
    with sites(options, {case.pages for case in todo}) as up, tempfile.TemporaryDirectory(prefix="p2pcrawl-") as folder:
        for _ in range(options.reps):
            for case in todo:
                case.runs.append(run_case(case, up[case.pages], Path(folder)))
                print(f"{case.name:20}", {k: round(v, 3) for k, v in case.runs[-1].items()}, flush=True)
    return report(todo, options.reps)


def report(done: list[Case], reps: int) -> int:
    columns = list(done[0].runs[0])
    print(f"\nspeed: medians of {reps} (pages/s: lowest to highest), {CONCURRENCY} requests open at once")
    print(f"  {'':20}{'pages':>8}", *(f"{name:>17}" for name in columns))
    for case in done:
        rates = [run["pages/s"] for run in case.runs]
        cells = [f"{case.median(name):17.{3 if 'CPU' in name else 0}f}" for name in columns]
        print(f"  {case.name:20}{case.pages:8}", *cells, f"  ({min(rates):.0f} to {max(rates):.0f})")
    claims = Claims("speed: what is claimed")
    ours = [case for case in done if case.name.startswith("p2pcrawl")]
    for case in ours:
        claims.claim(
            f"{case.name}: fetched twice", case.median("twice"), not any(r["twice"] for r in case.runs), "none"
        )
    scrapy = next((case for case in done if case.name.startswith("scrapy")), None)
    if scrapy is not None and ours:
        best = max(case.median("pages/s") for case in ours)
        factor = best / scrapy.median("pages/s")
        claims.claim("times Scrapy's pages/s", f"{factor:.1f}", factor >= SCRAPY_FACTOR, f">= {SCRAPY_FACTOR:g}")
        cheapest = min(case.median("CPU ms/page") for case in ours)
        claims.note("Scrapy's CPU per page, in ours", f"{scrapy.median('CPU ms/page') / cheapest:.1f}")
    _claim_idiomatic(done, claims)
    return claims.print() if claims.rows else 0


def _claim_idiomatic(done: list[Case], claims: Claims) -> None:
    """Claims how many bare loops the spider costs that everybody writes."""
    cpu = {case.name: case.median("CPU ms/page") for case in done}
    if (bare := cpu.get("bare loop")) and (idiomatic := cpu.get("p2pcrawl, 0 slaves, css")):
        factor = idiomatic / bare
        claims.claim(
            "CPU of the spider with CSS, in bare loops",
            f"{factor:.2f}",
            factor <= IDIOMATIC_FACTOR,
            f"<= {IDIOMATIC_FACTOR:g}",
        )


if __name__ == "__main__":
    raise SystemExit(main())
