"""Scrapy's names, answered by ours: ``import scrapy`` in a process that asked for it, and in no other.

``scrapy.a.b`` is answered by the face ``p2pcrawl.a.b``, for it is called the same; what Scrapy calls otherwise, or did
in former times, stands in a table. A name that we do not have is an ImportError as any other: nothing pretends.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Sequence
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from p2pcrawl.spiders.finding.twisted_errors import TWISTED_ERRORS, answers_for_twisted

SPOKEN_VERSION = (2, 13, 0)
"""The version of Scrapy whose names these are, for spiders that ask."""

ELSEWHERE = {
    "scrapy": "p2pcrawl",
    "scrapy.spiders": "p2pcrawl.spiders",
    "scrapy.spiders.crawl": "p2pcrawl.spiders",
    "scrapy.spiders.feed": "p2pcrawl.spiders",
    "scrapy.spiders.init": "p2pcrawl.spiders",
    "scrapy.spiders.sitemap": "p2pcrawl.spiders.sitemap",
    "scrapy.contrib.spiders": "p2pcrawl.spiders",
    "scrapy.contrib.spiders.crawl": "p2pcrawl.spiders",
    "scrapy.contrib.spiders.feed": "p2pcrawl.spiders",
    "scrapy.contrib.spiders.init": "p2pcrawl.spiders",
    "scrapy.contrib.spiders.sitemap": "p2pcrawl.spiders.sitemap",
    "scrapy.contrib.linkextractors": "p2pcrawl.linkextractors",
    "scrapy.contrib.linkextractors.lxmlhtml": "p2pcrawl.linkextractors.lxmlhtml",
    "scrapy.contrib.linkextractors.sgml": "p2pcrawl.linkextractors.sgml",
    "scrapy.linkextractor": "p2pcrawl.linkextractors",
    "scrapy.contrib.loader": "p2pcrawl.loader",
    "scrapy.contrib.loader.processor": "p2pcrawl.loader.processors",
    "scrapy.contrib.pipeline.files": "p2pcrawl.pipelines.files",
    "scrapy.contrib.pipeline.images": "p2pcrawl.pipelines.images",
    "scrapy.contrib.exporter": "p2pcrawl.exporters",
    "scrapy.http.headers": "p2pcrawl.http",
    "scrapy.http.request": "p2pcrawl.http",
    "scrapy.http.request.form": "p2pcrawl.http",
    "scrapy.http.request.json_request": "p2pcrawl.http",
    "scrapy.http.request.rpc": "p2pcrawl.http",
    "scrapy.http.response": "p2pcrawl.http",
    "scrapy.http.response.html": "p2pcrawl.http",
    "scrapy.http.response.json": "p2pcrawl.http",
    "scrapy.http.response.text": "p2pcrawl.http",
    "scrapy.http.response.xml": "p2pcrawl.http",
    "scrapy.selector.unified": "p2pcrawl.selector",
}
"""What is not where its name says. A module that has no row is answered by its face, if there is one."""

ABOVE = frozenset(name.rpartition(".")[0] for name in ELSEWHERE) | {"scrapy.contrib"}
"""Packages that are there for what lies in them, though they may hold nothing else."""

_CACHE = (
    "answers are in one file of our own, in HTTPCACHE_DIR; HTTPCACHE_POLICY names a policy, which may be a subclass of "
    "DummyPolicy or RFC2616Policy, and a store of one's own is a downloader middleware whose process_request returns "
    "what it has"
)
REFUSED = {
    "twisted": "crawls run on asyncio, without reactor and deferreds: take CrawlerProcess, whose start() ends with the "
    "last crawl, or await CrawlerRunner.crawl(); callbacks may be async",
    "scrapy.mail": "send mail by smtplib or what you use elsewhere, from a handler of spider_closed",
    "scrapy.core": "it is inside Scrapy's engine; middlewares and signals are the ways in here, and pace is by host: "
    "DOWNLOAD_DELAY, CONCURRENT_REQUESTS_PER_DOMAIN and AUTOTHROTTLE_ENABLED",
    "scrapy.exceptions.StopDownload": "an answer comes whole or not at all: DOWNLOAD_MAXSIZE, or download_maxsize in a "
    "request's meta, ends what is too large",
    "scrapy.squeues": "the queue is on disk by itself; QUEUE_ORDER says in which order",
    "scrapy.pqueues": "the queue is on disk by itself; QUEUE_ORDER says in which order",
    "scrapy.dupefilters": "pages are known by their fingerprints over all masters; dont_filter asks for one again",
    "scrapy.extensions.telnet": "a running crawl is looked into by p2pcrawl console, and by p2pcrawl why",
    "scrapy.extensions.httpcache": _CACHE,
    "scrapy.contrib.httpcache": _CACHE,
    "scrapy.utils.reactor": "there is no Twisted reactor: callbacks may be async and await asyncio's things",
    "scrapy.xlib.tx": "there is no Twisted",
    "scrapy.conf": "read the settings from the spider or the crawler: spider.settings, or from_crawler(cls, crawler)",
    "scrapy.xlib.pydispatch": "connect to signals in from_crawler: crawler.signals.connect(handler, signal=...)",
    "scrapy.contrib.djangoitem": "it left Scrapy in 1.0; give the model's fields as a plain dict or an Item",
}
"""Names, with all that is below them, that will not come, and what to do instead."""

REACTORS = frozenset({"twisted.enterprise", "twisted.internet.reactor"})
"""Modules of Twisted that do nothing without a reactor, and are refused though Twisted be installed."""

OTHER_THINGS = frozenset(
    {
        "cli", "client", "core", "demo", "fetch", "frontier", "master", "model", "overlay", "peer", "private", "slave",
        "spiders", "stores", "wire",
    }
)  # fmt: skip
"""What is below ``p2pcrawl`` and no face: not shown under Scrapy's name."""


def install_scrapy_names() -> None:
    """Lets every ``import scrapy`` of this process be answered by p2pcrawl from now on."""
    if not scrapy_names_installed():
        for name in [name for name in sys.modules if _is_scrapys(name)]:
            del sys.modules[name]
        sys.meta_path.insert(0, ScrapyNames())


def scrapy_names_installed() -> bool:
    """Tells whether ``import scrapy`` is answered by p2pcrawl in this process."""
    return any(isinstance(finder, ScrapyNames) for finder in sys.meta_path)


@cache
def home_of(name: str) -> str | None:
    """Returns the module of p2pcrawl that answers for a module of Scrapy; None: we have none."""
    home = ELSEWHERE.get(name)
    if home is None:
        if name.split(".")[1] in OTHER_THINGS:
            return None
        home = f"p2pcrawl.{name.removeprefix('scrapy.')}"
    try:
        return home if importlib.util.find_spec(home) is not None else None
    except ModuleNotFoundError:  # Not even what it would lie in.
        return None


def missing_name(error: BaseException) -> str:
    """Returns the name of Scrapy's that an import or a use of it did not find; "" where it was something else.

    Twisted's count too while its names are answered: what is not installed, and what is refused.
    """
    if isinstance(error, AttributeError) and isinstance(error.obj, AnsweredModule):
        return f"{error.obj.__name__}.{error.name}"
    if not isinstance(error, ImportError) or error.name is None:
        return ""
    named = re.match(r"cannot import name '(\w+)'", error.msg or "")
    wanted = f"{error.name}.{named[1]}" if named else error.name
    twisteds = error.name.partition(".")[0] == "twisted" and (
        not named or wanted in REACTORS or answers_for_twisted(error.name)
    )
    return wanted if _is_scrapys(error.name) or (twisteds and scrapy_names_installed()) else ""


def missing_line(name: str) -> str:
    """Says in one line that a name of Scrapy's is missing, and what to do."""
    if not scrapy_names_installed():
        return f"there is no {name}: import from p2pcrawl instead, or let it be answered with `--scrapy PROJECT SPIDER`"
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        if reason := REFUSED.get(".".join(parts[:length])):
            return f"p2pcrawl has no {name}: {reason}"
    return f"p2pcrawl has no {name}; see docs/from-scrapy.md for what takes its place"


class ScrapyNames(MetaPathFinder, Loader):
    """Finds modules of Scrapy's names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in REACTORS:
            # Whoever imports it waits for a reactor that nobody runs: its work would be lost without a word.
            raise ModuleNotFoundError(f"p2pcrawl has no {fullname}", name=fullname)
        if answers_for_twisted(fullname):
            return ModuleSpec(fullname, self, is_package=True)
        if not _is_scrapys(fullname) or (home_of(fullname) is None and fullname not in ABOVE):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return AnsweredModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        if not _is_scrapys(module.__name__):
            errors = dict(TWISTED_ERRORS.get(module.__name__, {}))
            vars(module).update(errors, __all__=list(errors), _home=None, _shown=[])
            return
        name = home_of(module.__name__)
        home = importlib.import_module(name) if name is not None else None
        shown = getattr(home, "__all__", None) if home is not None else []
        vars(module).update(_home=home, _shown=shown, __doc__=getattr(home, "__doc__", None))
        if shown is not None:
            vars(module)["__all__"] = list(shown)
        if module.__name__ == "scrapy":
            vars(module).update(version_info=SPOKEN_VERSION, __version__=".".join(map(str, SPOKEN_VERSION)))


class AnsweredModule(ModuleType):
    """A module of Scrapy's name that shows what is in one of ours."""

    def __getattr__(self, name: str) -> Any:
        shown = vars(self).get("_shown")
        home = vars(self).get("_home")
        if not name.startswith("__"):
            if hasattr(home, name) and (shown is None or name in shown):
                return getattr(home, name)
            below = f"{self.__name__}.{name}"
            if _is_scrapys(below) and (home_of(below) is not None or below in ABOVE):
                return importlib.import_module(below)
        raise AttributeError(f"p2pcrawl has no {self.__name__}.{name}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *(vars(self)["_shown"] or dir(vars(self)["_home"]))})


def _is_scrapys(name: str) -> bool:
    return name == "scrapy" or name.startswith("scrapy.")
