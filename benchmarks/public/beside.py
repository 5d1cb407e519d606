"""One public spider, run by Scrapy and by p2pcrawl over the same made-up web, and what differs in its items."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.public.wanted import demands_of
from benchmarks.public.web import MadeUpWeb

RUN_S = 20
SOURCES_MAX = 30
"""A project with more files wants more than one page can have."""
SETTINGS = {
    "ROBOTSTXT_OBEY": "False",
    "DOWNLOAD_DELAY": "0",
    "AUTOTHROTTLE_ENABLED": "False",
    "HTTPCACHE_ENABLED": "False",
    "RETRY_ENABLED": "False",
    "LOG_LEVEL": "INFO",
    "CLOSESPIDER_TIMEOUT": "10",
}
"""For both: what only costs time over made-up pages is left out."""
PLAIN = {"ITEM_PIPELINES": "{}", "DOWNLOADER_MIDDLEWARES": "{}", "SPIDER_MIDDLEWARES": "{}", "EXTENSIONS": "{}"}


@dataclass(frozen=True)
class PublicSpider:
    """A spider's file in a checked-out repository."""

    repository: Path
    file: Path
    name: str
    starts: tuple[str, ...]

    project: Path | None = None
    """The folder with its ``scrapy.cfg``, if it has one and is to be run in it."""

    def __str__(self) -> str:
        return f"{self.repository.name}/{self.file.relative_to(self.repository)}:{self.name}"


@dataclass
class Outcome:
    """The items and the log of one program's run."""

    items: Counter[str] = field(default_factory=Counter)
    in_time: bool = True
    """Whether it ended by itself."""
    log: str = ""
    asked: int = 0


@dataclass
class Pair:
    """Both programs' outcomes of one spider."""

    spider: PublicSpider
    scrapy: Outcome
    ours: Outcome
    varying: frozenset[str] = frozenset()
    """Fields that differ between two runs of Scrapy, such as the time."""

    @property
    def verdict(self) -> str:
        """Returns "equal"; "equal but for repeats" where only the number of equal items differs; or "differs"."""
        if self.scrapy.items == self.ours.items:
            return "equal"
        return "equal but for repeats" if set(self.scrapy.items) == set(self.ours.items) else "differs"


SELECTS_SOMETHING = re.compile(r"\.(?:css|xpath|select)\(|restrict_")
WANTS_MORE = re.compile(
    r"selenium|splash|playwright|scrapy_redis|pandas|django|celery|urllib2|urlparse import|json\.loads|inline_requests"
)
"""Browsers, databases and answers that are not pages: a web that is made up from selectors has none of them."""


def spiders_in(repository: Path) -> Iterator[PublicSpider]:
    """Yields the spiders of a repository that have a name and start somewhere, as far as their source says so."""
    for file in sorted(repository.rglob("*.py")):
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
            tree = ast.parse(text) if "scrapy" in text and is_for_python_3_and_pages(file) else None
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree) if tree is not None else ():
            name, urls = _named(node)
            if name and urls:
                yield PublicSpider(repository, file, name, urls, _project_of(file, repository))


def _named(node: ast.AST) -> tuple[str, tuple[str, ...]]:
    """Returns the name of a spider and the URLs in its source, if a node is the class of one; or "" and none."""
    if not isinstance(node, ast.ClassDef) or not any("Spider" in ast.unparse(base) for base in node.bases):
        return "", ()
    names = [
        each.value.value
        for each in node.body
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant) and isinstance(each.value.value, str)
        if any(isinstance(target, ast.Name) and target.id == "name" for target in each.targets)
    ]
    texts = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return "".join(names[-1:]), tuple(text for text in texts if text.startswith(("http://", "https://")))


def _project_of(file: Path, repository: Path) -> Path | None:
    folders = [folder for folder in file.parents if folder.is_relative_to(repository)]
    return next((folder for folder in folders if (folder / "scrapy.cfg").is_file()), None)


def is_for_python_3_and_pages(file: Path) -> bool:
    """Tells whether a file selects from pages and imports nothing that is hardly ever installed."""
    text = file.read_text(encoding="utf-8", errors="replace")
    return bool(SELECTS_SOMETHING.search(text)) and not WANTS_MORE.search(text)


def run_beside(spider: PublicSpider, scrapy_python: str, more: Sequence[str] = (), plain: bool = False) -> Pair | None:
    """Runs a spider by both programs. Returns None when Scrapy itself has no item of it.

    ``plain``: without the pipelines and middlewares of its project, which may want servers that are not here.
    """
    settings = SETTINGS | (PLAIN if plain else {})
    sources = [*spider.project.rglob("*.py")] if spider.project else []
    demands = demands_of(spider.file, *[f for f in sources if f != spider.file and len(sources) < SOURCES_MAX])
    with (
        tempfile.TemporaryDirectory(prefix="public-") as name,
        MadeUpWeb(demands, list(spider.starts), Path(name)) as web,
    ):
        folder = Path(name)
        scrapy = run_scrapy(spider, scrapy_python, web, settings, folder)
        if not scrapy.items or not scrapy.in_time or "closespider_timeout" in scrapy.log:
            return None
        reached = {"HTTP_PROXY": f"http://127.0.0.1:{web.port}", "ALLOW_PRIVATE_NETWORKS": "True"}
        ours = _run([*_our_command(spider), *more], spider, web, settings | reached, folder)
        pair = Pair(spider, scrapy, ours)
        if pair.verdict == "differs":
            again = run_scrapy(spider, scrapy_python, web, settings, folder)
            varying = _varying(scrapy.items, again.items)
            if varying:
                pair = Pair(spider, _without(scrapy, varying), _without(ours, varying), varying)
        return pair


def run_scrapy(spider: PublicSpider, python: str, web: MadeUpWeb, settings: Mapping[str, str], folder: Path) -> Outcome:
    """Runs a spider by Scrapy."""
    return _run(_scrapy_command(spider, python), spider, web, settings, folder)


def _scrapy_command(spider: PublicSpider, python: str) -> list[str]:
    if spider.project is not None:
        return [python, "-m", "scrapy", "crawl", spider.name]
    return [python, "-m", "scrapy", "runspider", str(spider.file)]


def _our_command(spider: PublicSpider) -> list[str]:
    where = spider.project or spider.file
    return [sys.executable, "-m", "p2pcrawl", "crawl", "--scrapy", str(where), spider.name, "--slaves", "2"]


def _run(
    command: Sequence[str], spider: PublicSpider, web: MadeUpWeb, settings: Mapping[str, str], folder: Path
) -> Outcome:
    proxy = f"http://127.0.0.1:{web.port}"
    output = folder / "items.jsonl"
    output.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "http_proxy": proxy,
        "https_proxy": proxy,
        "SSL_CERT_FILE": str(web.certificate),
        "HOME": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "ignore",
    }
    given = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    web.asked.clear()
    with (folder / "log").open("w+") as log:
        program = subprocess.Popen(
            [*command, "-O", str(output), *given],
            cwd=spider.project or spider.file.parent,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        ended = True
        try:
            program.wait(RUN_S)
        except subprocess.TimeoutExpired:
            ended = False
            os.killpg(program.pid, 9)
            program.wait()
        log.seek(0)
        told = log.read()
    lines = output.read_text(errors="replace").splitlines() if output.is_file() else []
    items: Counter[str] = Counter()
    for line in lines:
        try:
            items[json.dumps(json.loads(line), sort_keys=True)] += 1
        except ValueError:
            continue
    return Outcome(items, ended, told, sum(web.asked.values()))


def _varying(one: Counter[str], other: Counter[str]) -> frozenset[str]:
    """Returns the fields without which two runs of one program gave the same."""
    if one == other:
        return frozenset()
    fields = {name for text in one for name in json.loads(text)}
    found = {
        name
        for name in fields
        if {repr(json.loads(t).get(name)) for t in one} != {repr(json.loads(t).get(name)) for t in other}
    }
    return frozenset(found)


def _without(outcome: Outcome, fields: frozenset[str]) -> Outcome:
    items: Counter[str] = Counter()
    for text, times in outcome.items.items():
        left = {name: value for name, value in json.loads(text).items() if name not in fields}
        items[json.dumps(left, sort_keys=True)] += times
    return Outcome(items, outcome.in_time, outcome.log, outcome.asked)
