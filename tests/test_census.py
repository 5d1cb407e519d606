"""The census counts what spiders want as it is there, and what they do not need as not wanted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.census import kind_of_setting, report, repository_count, with_projects
from p2pcrawl.spiders.finding.answered_names import install_scrapy_names


@pytest.fixture(autouse=True)
def answered() -> Iterator[None]:
    """Answers for Scrapy's names until the test ends."""
    finders = list(sys.meta_path)
    install_scrapy_names()
    yield
    sys.meta_path[:] = finders
    for name in [name for name in sys.modules if name.partition(".")[0] == "scrapy"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        pytest.param("import scrapy\nx = scrapy.Field()", set(), id="all-there"),
        pytest.param("import scrapy\nx = scrapy.Filed()", {"scrapy.Filed"}, id="attribute"),
        pytest.param("import scrapy as s\nx = s.http.Nothing()", {"scrapy.http.Nothing"}, id="under-another-name"),
        pytest.param("from scrapy.http import Request, Nothing", {"scrapy.http.Nothing"}, id="from"),
        pytest.param("from scrapy.nowhere import A", {"scrapy.nowhere.A"}, id="from-no-module"),
        pytest.param("import scrapy.nowhere", {"scrapy.nowhere"}, id="no-module"),
        pytest.param("try:\n    from scrapy import A\nexcept ImportError:\n    A = 1", set(), id="minded"),
        pytest.param(
            "try:\n    from scrapy import A\nexcept ImportError:\n    from scrapy import B",
            {"scrapy.B"},
            id="minded-by-another",
        ),
        pytest.param(
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from scrapy import A", set(), id="for-types"
        ),
        pytest.param("from .bases import Base", {"scrapy.Nothing"}, id="what-it-imports-wants"),
        pytest.param("from shop.bases import Base", {"scrapy.Nothing"}, id="what-it-imports-by-its-name-wants"),
    ],
)
def test_wants_of_a_spider_file(tmp_path: Path, text: str, missing: set[str]) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/bases.py").write_text("from scrapy import Nothing\n")
    (tmp_path / "shop/spider.py").write_text(f"{text}\nfrom scrapy import Spider\nclass A(Spider): ...\n")

    count = repository_count(tmp_path)

    assert count.spiders == {tmp_path / "shop/spider.py": missing}


def test_report_says_what_would_unlock_most(tmp_path: Path) -> None:
    for number, name in enumerate(["A", "A", "B", "Request"]):
        (tmp_path / f"s{number}.py").write_text(f"from scrapy import Spider, {name}\nclass S(Spider): ...\n")
    (tmp_path / "old.py").write_text("import scrapy\nclass S(Spider):\n    print 'old'\n")
    (tmp_path / "settings.py").write_text("BOT_NAME = 'a'\nSPIDER_MODULES = []\nSCHEDULER = 'x'\nMY_OWN = 1\n")

    lines = list(report([repository_count(tmp_path)], 40, files=False))

    assert any(line.split()[-5:] == ["4", "1", "25.0%", "1"] or "25.0%" in line for line in lines)
    assert [line.split() for line in lines if line.startswith("scrapy.")] == [
        ["scrapy.A", "2", "75.0%"],
        ["scrapy.B", "1", "100.0%"],
    ]
    assert any(line.split() == ["SCHEDULER", "1"] for line in lines)


def test_components_of_a_project_count_for_its_spiders(tmp_path: Path) -> None:
    files = {
        "scrapy.cfg": "",
        "shop/settings.py": "BOT_NAME = 'a'\nSPIDER_MODULES = []\n"
        "ITEM_PIPELINES = {'shop.parts.A': 1, 'shop.off.B': None}\n",
        "shop/parts.py": "from scrapy import Nothing\n",
        "shop/off.py": "from scrapy import NothingElse\n",
        "shop/spiders/s.py": "from scrapy import Spider\nclass S(Spider): ...\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    count = repository_count(tmp_path)

    assert list(count.spiders.values()) == [frozenset()]
    assert list(with_projects(count).values()) == [{"scrapy.Nothing"}]


@pytest.mark.parametrize(
    ("name", "kind"), [("DOWNLOAD_DELAY", "ours"), ("SCHEDULER", "told"), ("BOT_NAME", "needless"), ("MINE", "own")]
)
def test_kinds_of_settings(name: str, kind: str) -> None:
    assert kind_of_setting(name) == kind
