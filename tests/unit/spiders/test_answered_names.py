"""Scrapy's names are answered by ours where that is asked for, and a name that we lack is told with its place."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

import p2pcrawl
from p2pcrawl.model.errors import CannotResolveHostError, ConfigurationError, DownloadTimeoutError
from p2pcrawl.spiders.finding.answered_names import (
    ELSEWHERE,
    OTHER_THINGS,
    home_of,
    install_scrapy_names,
    scrapy_names_installed,
)
from p2pcrawl.spiders.finding.modules import import_file
from tests.test_layers import FACES, MAY_IMPORT


@pytest.fixture
def answered() -> Iterator[None]:
    """Answers for Scrapy's names until the test ends."""
    finders, path = list(sys.meta_path), list(sys.path)
    kept = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in ("scrapy", "twisted")}
    install_scrapy_names()
    yield
    sys.meta_path[:], sys.path[:] = finders, path
    for name in [name for name in sys.modules if name.partition(".")[0] in ("scrapy", "twisted")]:
        del sys.modules[name]
    sys.modules.update(kept)


def written(folder: Path, text: str, name: str = "spider.py") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_nothing_is_answered_unless_it_was_asked_for() -> None:
    assert not scrapy_names_installed()


@pytest.mark.usefixtures("answered")
def test_names_of_scrapy_are_the_very_things_of_ours() -> None:
    import scrapy

    assert scrapy.Spider is p2pcrawl.Spider
    assert scrapy.Request is p2pcrawl.Request
    assert scrapy.version_info >= (2, 0, 0)


@pytest.mark.usefixtures("answered")
def test_modules_of_ours_that_happen_to_be_called_so_are_not_shown() -> None:
    import scrapy

    assert not hasattr(scrapy, "core")
    assert not hasattr(scrapy, "master")
    with pytest.raises(ModuleNotFoundError):
        import_module("scrapy.core.engine")


@pytest.mark.usefixtures("answered")
def test_unchanged_file_gives_a_spider(tmp_path: Path) -> None:
    file = written(tmp_path, "import scrapy\n\nclass Quotes(scrapy.Spider):\n    name = 'quotes'\n")

    module = import_file(file)

    assert issubclass(module.Quotes, p2pcrawl.Spider)


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize(
    ("line", "name"),
    [
        pytest.param("from scrapy.nowhere import Thing", "scrapy.nowhere", id="module"),
        pytest.param("from scrapy import Nothing", "scrapy.Nothing", id="from"),
        pytest.param("import scrapy; scrapy.Nothing", "scrapy.Nothing", id="attribute"),
        pytest.param("import scrapy.mail", "scrapy.mail: send mail by smtplib", id="with-what-to-do"),
        pytest.param(
            "from scrapy.exceptions import StopDownload",
            "scrapy.exceptions.StopDownload: an answer comes whole",
            id="stop-download",
        ),
        pytest.param("from scrapy.core.downloader import Slot", "scrapy.core: it is inside Scrapy's", id="slot"),
        pytest.param("from scrapy.mail import MailSender", "scrapy.mail", id="inside-what-will-not-come"),
    ],
)
def test_missing_name_is_told_with_the_file_and_line_that_want_it(tmp_path: Path, line: str, name: str) -> None:
    file = written(tmp_path, f"# a spider\n{line}\n")

    with pytest.raises(ConfigurationError) as told:
        import_file(file)

    assert str(told.value).startswith(f"{file}, line 2: p2pcrawl has no {name}")
    assert "\n" not in str(told.value)


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize("line", ["from twisted.enterprise import adbapi", "from twisted.internet import reactor"])
def test_what_would_wait_for_a_reactor_is_refused_though_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    for name in ("twisted/__init__.py", "twisted/internet/__init__.py", "twisted/internet/reactor.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "twisted"]:
        monkeypatch.delitem(sys.modules, name)

    with pytest.raises(ConfigurationError, match=r"line 1: p2pcrawl has no twisted\..*: crawls run on asyncio"):
        import_file(written(tmp_path, f"{line}\n"))


@pytest.mark.usefixtures("answered")
@pytest.mark.skipif(PathFinder.find_spec("twisted") is not None, reason="Twisted is installed, and answers itself")
def test_errors_of_twisted_are_those_of_ours_that_stand_for_them(tmp_path: Path) -> None:
    lines = (
        "from twisted.web.client import ResponseFailed\nfrom twisted.internet.error import DNSLookupError, TimeoutError"
    )

    module = import_file(written(tmp_path, lines))

    assert (module.DNSLookupError, module.TimeoutError) == (CannotResolveHostError, DownloadTimeoutError)
    with pytest.raises(ConfigurationError, match=r"line 1: p2pcrawl has no twisted\.web\.client\.Agent: crawls run on"):
        import_file(written(tmp_path, "from twisted.web.client import Agent\n", "agent.py"))
    with pytest.raises(ConfigurationError, match=r"line 1: p2pcrawl has no twisted\.internet\.reactor: crawls run on"):
        import_file(written(tmp_path, "from twisted.internet import reactor, defer\n", "reactor.py"))


@pytest.mark.usefixtures("answered")
def test_place_of_a_missing_name_is_the_module_that_wants_it(tmp_path: Path) -> None:
    written(tmp_path, "from scrapy import Nothing\n", "wants_nothing.py")
    file = written(tmp_path, "import wants_nothing\n")

    with pytest.raises(ConfigurationError, match=r"wants_nothing\.py, line 1: p2pcrawl has no scrapy\.Nothing"):
        import_file(file)


@pytest.mark.usefixtures("answered")
def test_contracts_of_ones_own_are_answered(tmp_path: Path) -> None:
    lines = "from scrapy.contracts import Contract\nfrom scrapy.exceptions import ContractFail\n"

    module = import_file(written(tmp_path, lines, "contracts.py"))

    assert issubclass(module.ContractFail, AssertionError)
    assert module.Contract.name == ""


@pytest.mark.usefixtures("answered")
def test_file_that_minds_for_itself_what_is_missing_is_left_to_it(tmp_path: Path) -> None:
    file = written(tmp_path, "try:\n    from scrapy import Nothing\nexcept ImportError:\n    Nothing = 7\n")

    assert import_file(file).Nothing == 7


def test_scrapy_where_it_is_missing_is_told_with_what_answers_for_it(tmp_path: Path) -> None:
    file = written(tmp_path, "import scrapy.nowhere\n")

    with pytest.raises(ConfigurationError, match=r"line 1: there is no scrapy.*: import from p2pcrawl .*--scrapy"):
        import_file(file)


@pytest.mark.usefixtures("answered")
def test_names_of_former_times_are_answered_too() -> None:
    from scrapy.contrib.linkextractors.sgml import SgmlLinkExtractor
    from scrapy.contrib.spiders import CrawlSpider

    assert SgmlLinkExtractor is import_module("p2pcrawl.linkextractors").LinkExtractor
    assert CrawlSpider is import_module("p2pcrawl.spiders").CrawlSpider


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize("face", sorted(FACES))
def test_every_face_shows_what_it_says(face: str) -> None:
    package = import_module(f"scrapy.{face}")
    for each in pkgutil.walk_packages(
        import_module(f"p2pcrawl.{face}").__dict__.get("__path__", ()), f"scrapy.{face}."
    ):
        module = import_module(each.name)
        assert [name for name in module.__all__ if not hasattr(module, name)] == []

    assert [name for name in getattr(package, "__all__", []) if not hasattr(package, name)] == []


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("scrapy.spiders", "CrawlSpider CSVFeedSpider Rule SitemapSpider Spider XMLFeedSpider"),
        ("scrapy.spiders.crawl", "CrawlSpider Rule Spider"),
        ("scrapy.spiders.feed", "CSVFeedSpider XMLFeedSpider"),
        ("scrapy.spiders.init", "InitSpider"),
        ("scrapy.spiders.sitemap", "SitemapSpider iterloc"),
        ("scrapy.contrib.spiders.sitemap", "SitemapSpider"),
        ("scrapy.contrib.linkextractors.sgml", "SgmlLinkExtractor"),
        ("scrapy.linkextractors.lxmlhtml", "LxmlLinkExtractor"),
        ("scrapy.linkextractors", "IGNORED_EXTENSIONS LinkExtractor"),
    ],
)
def test_kinds_of_spiders_are_where_people_look_for_them(module: str, names: str) -> None:
    found = import_module(module)

    assert [name for name in names.split() if not hasattr(found, name)] == []


def test_layers_are_no_faces() -> None:
    assert set(MAY_IMPORT) - {"__main__", "crawler", "faces", "p2pcrawl"} == OTHER_THINGS


def test_every_row_of_the_table_says_what_the_name_does_not() -> None:
    needless = {name for name, home in ELSEWHERE.items() if home == f"p2pcrawl.{name.removeprefix('scrapy.')}"}

    assert {name for name in needless if name.split(".")[1] not in OTHER_THINGS} == set()
    assert home_of("scrapy.core") is None
