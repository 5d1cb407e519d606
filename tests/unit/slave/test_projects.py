"""A slave runs projects that travelled, several side by side, none of which sees another or shadows a library."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.fetch.connection.client import HttpClient
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.slave.stored.page_seeking import PageSeeking
from p2pcrawl.slave.work.doors import Doors
from p2pcrawl.slave.work.jobs import Jobs
from p2pcrawl.spiders.travelling.bundle import pack_files
from p2pcrawl.wire.messages.slave_messages import Bye, WireJob

SPIDER = """
from p2pcrawl import Spider
{imports}
class Shop(Spider):
    name = "shop"
    def found(self):
        {body}
"""


@pytest.fixture(autouse=True)
def same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


def project(imports: str, body: str, files: dict[str, str] | None = None) -> bytes:
    texts = {"shop.py": SPIDER.format(imports=imports, body=body), **(files or {})}
    return pack_files({name: text.encode() for name, text in texts.items()})


def spec_of(number: int, packed: bytes, settings: dict[str, Any] | None = None, file: str = "shop.py") -> WireJob:
    return WireJob(number, "shop", file, "", "Shop", [], {}, settings or {}, [], project=packed)


async def found(*specs: WireJob) -> list[Any]:
    """What the spider of each job has found, when all are open."""
    failures: list[Bye] = []
    jobs = Jobs({}, HttpClient, failures.append, Doors(), seeking=PageSeeking(lambda question: None))
    try:
        for spec in specs:
            jobs.open(spec)
        spiders = [(await jobs.run_of(spec.id)).spider for spec in specs]
        return [spider.found() for spider in spiders]  # type: ignore[attr-defined]
    finally:
        await jobs.close()


async def refusal(spec: WireJob) -> str:
    failures: list[Bye] = []
    jobs = Jobs({}, HttpClient, failures.append, Doors(), seeking=PageSeeking(lambda question: None))
    try:
        jobs.open(spec)
        with pytest.raises(P2PCrawlError):
            await jobs.run_of(spec.id)
    finally:
        await jobs.close()
    (bye,) = failures
    return bye.reason


async def test_two_versions_of_one_module_do_not_mix() -> None:
    first = project(
        "import helpers", "import late; return helpers.who, late.who", {"helpers.py": "who = 1", "late.py": "who = 11"}
    )
    second = project(
        "import helpers", "import late; return helpers.who, late.who", {"helpers.py": "who = 2", "late.py": "who = 22"}
    )

    assert await found(spec_of(1, first), spec_of(2, second), spec_of(3, first)) == [(1, 11), (2, 22), (1, 11)]


async def test_all_ways_to_import_lead_into_the_project() -> None:
    packed = project(
        "import kit.deep.tools, kit.deep.tools as tools\n"
        "from kit import deep, name\nfrom kit.deep.tools import where as w",
        "return [kit.deep.tools.where, tools.where, deep.tools.where, name, w, deep.tools.up()]",
        {
            "kit/__init__.py": "name = 'kit'",
            "kit/deep/__init__.py": "",
            "kit/deep/tools.py": (
                "from .. import name\nwhere = 'deep'\ndef up():\n    import kit\n    return kit.name + name"
            ),
        },
    )

    assert await found(spec_of(1, packed)) == [["deep", "deep", "deep", "kit", "deep", "kitkit"]]


async def test_module_of_a_project_is_seen_by_nobody_else() -> None:
    await found(spec_of(1, project("import only_mine", "return 0", {"only_mine.py": ""})))

    with pytest.raises(ModuleNotFoundError):
        __import__("only_mine")
    assert "only_mine" not in sys.modules


async def test_module_of_a_project_shadows_no_library() -> None:
    packed = project("import json, lxml", "return json.dumps([lxml.__name__])", {"json.py": "x", "lxml.py": "x"})

    assert await found(spec_of(1, packed)) == [json.dumps(["lxml"])]


async def test_data_files_are_beside_the_code() -> None:
    packed = project(
        "from pathlib import Path",
        "return (Path(__file__).parent / 'data/urls.txt').read_text()",
        {"data/urls.txt": "http://a/"},
    )

    assert await found(spec_of(1, packed)) == ["http://a/"]


@pytest.mark.parametrize("named", ["cleaning.Clean", "cleaning:Clean", "cleaning.py:Clean"])
async def test_pipeline_of_a_setting_is_found_in_the_project(named: str) -> None:
    clean = "class Clean:\n    def open_spider(self, spider):\n        spider.opened = True\n"
    packed = project("", "return self.opened", {"cleaning.py": clean})

    assert await found(spec_of(1, packed, {"item_pipelines": {named: 1}})) == [True]


async def test_spider_whose_file_has_the_name_of_a_library_is_run() -> None:
    packed = pack_files({"json.py": SPIDER.format(imports="import json", body="return json.loads('1')").encode()})

    assert await found(spec_of(1, packed, file="json.py")) == [1]


async def test_library_that_is_missing_is_told_by_its_name_with_the_machine() -> None:
    said = await refusal(spec_of(1, project("import no_such_library", "pass")))

    assert "no_such_library" in said and said.endswith(f"(on {socket.gethostname()})")
    assert "p2pcrawl_project" not in said and "/" not in said


async def test_project_that_was_damaged_on_its_way_is_refused() -> None:
    said = await refusal(spec_of(1, project("", "pass")[:-9]))

    assert "a project is damaged" in said


async def test_tracebacks_name_the_files_of_the_project() -> None:
    said = await refusal(spec_of(1, project("import broken", "pass", {"broken.py": "1 / 0"})))

    assert "ZeroDivisionError" in said and "shop" in said


async def test_what_was_unpacked_is_for_this_user_alone() -> None:
    (place,) = await found(spec_of(1, project("", "return __file__")))

    assert not Path(place).parent.stat().st_mode & 0o077
