"""Boards of a job in a cluster of real peers: several from the start, and more, fewer and other ones while it runs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.errors import ConfigurationError, NotNow, NotThere
from p2pcrawl.peer.answers.submission import Submission, submission_of
from p2pcrawl.peer.peer import Peer
from tests.unit.peer.test_peer import Site, peer, site_of

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]
LIMIT_S = 60.0


def text_of(site: Site, number: int, field: str = "title", more: str = "") -> str:
    """Returns the board of one page, which leads nowhere."""
    fields = f"[fields]\n{field} = 'title::text'\n"
    return f"entries = ['{site.url(number)}']\n[articles]\nallow = ['/{number}$']\n{fields}{more}"


def submission(folder: Path, **texts: str) -> Submission:
    files = []
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text)
        files.append(str(folder / f"{name}.toml"))
    return submission_of(files, RankedSettings(), {"ROBOTSTXT_OBEY": False, "DOWNLOAD_DELAY": 0}, {})


async def items_of(asked: Peer, job: int, count: int) -> list[dict[str, Any]]:
    """Waits for so many items, and returns them."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            lines = [line async for piece in asked.results(job) for line in piece.splitlines()]
            if len(lines) >= count:
                return [json.loads(line) for line in lines]
            await asyncio.sleep(0.05)


async def met(*peers: Peer) -> None:
    """Waits until all know of each other."""
    async with asyncio.timeout(LIMIT_S):
        for each in peers:
            while len((await each.ask("members", {}))["members"]) < len(peers):  # noqa: ASYNC110
                await asyncio.sleep(0.02)


def put(name: str, text: str, job: int) -> dict[str, Any]:
    return {"job": job, "file": f"{name}.toml", "text": text}


async def test_boards_come_change_and_go_while_their_job_is_there(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one, peer(one.address) as two:
        await met(one, two)
        sent = submission(tmp_path, press=text_of(site, 1), wine=text_of(site, 2)).plain()
        job = (await one.tell("submit", sent))["job"]
        first = await items_of(two, job, 2)

        added = await two.tell("board-add", put("sports", text_of(site, 3), job))
        again = await one.tell("board-add", put("sports", text_of(site, 3), job))
        second = await items_of(one, job, 3)
        changed = await one.tell("board-change", put("wine", text_of(site, 4, "heading"), job))
        third = await items_of(two, job, 4)
        removed = await two.tell("board-remove", {"job": job, "board": "press"})
        told = await one.ask("boards", {"job": job})

        with pytest.raises(NotThere, match=r"has no board 'cider'; it has press, sports, wine"):
            await one.tell("board-remove", {"job": job, "board": "cider"})
        with pytest.raises(NotNow, match="has a board sports already"):
            await one.tell("board-add", put("sports", text_of(site, 5), job))
        with pytest.raises(ConfigurationError, match=r"speed\.delay is one per job, which has 0\.0 and not 3\.0"):
            await one.tell("board-add", put("cider", text_of(site, 5, more="[speed]\ndelay = 3"), job))

    assert sorted(item["board"] for item in first) == ["press", "wine"]
    assert (added["state"], added["was"], added["entries"]) == ("in force", "", 1)
    assert (again["state"], again["was"]) == ("in force", "in force")
    assert sorted(item["board"] for item in second) == ["press", "sports", "wine"]
    assert (changed["entries"], changed["gone"]) == (1, 1)
    assert {"url": site.url(4), "heading": "4", "board": "wine"} in third
    assert (removed["state"], removed["was"]) == ("removed", "in force")
    assert [(each["name"], each["state"], each["items"]) for each in told["boards"]] == [
        ("press", "removed", 1),
        ("sports", "in force", 1),
        ("wine", "in force", 2),
    ]
    assert set(site.visits.values()) == {1}


async def test_job_of_one_board_takes_more_and_one_of_code_takes_none(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        (tmp_path / "press.toml").write_text(text_of(site, 1, more="[limits]\npages = 1000\n"))
        quick = {"ROBOTSTXT_OBEY": False, "DOWNLOAD_DELAY": 0}
        alone = submission_of(str(tmp_path / "press.toml"), RankedSettings(), quick, {})
        job = (await one.tell("submit", alone.plain()))["job"]
        links = (await one.tell("submit", {"name": "links", "urls": [site.url(5)]}))["job"]

        await one.tell("board-add", put("wine", text_of(site, 2), job))
        found = await items_of(one, job, 2)
        told = await one.ask("boards", {"job": job})

        with pytest.raises(ConfigurationError, match="has no boards: it crawls by code"):
            await one.tell("board-add", put("wine", text_of(site, 2), links))

    assert {"url": site.url(2), "title": "2", "board": "wine"} in found
    assert [(each["name"], each["state"]) for each in told["boards"]] == [("press", "in force"), ("wine", "in force")]
