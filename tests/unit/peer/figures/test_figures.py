"""Questions about figures, asked of either of two masters."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from p2pcrawl.model.errors import ConfigurationError
from tests.unit.peer.test_control import begun, ended
from tests.unit.peer.test_peer import PAGES, site_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("impatient"),
]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def test_either_master_tells_what_failed_and_what_came_last_at_both(tmp_path: Path) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        site.broken = set(range(40, PAGES))
        one, two, job = await begun(stack, tmp_path, site)
        site.slow_s = 0.0
        await ended(job)

        told = [await each.ask("errors", {"job": job.id}) for each in (one, two)]
        latest = [await each.ask("latest", {"job": job.id, "limit": 10}) for each in (one, two)]
        with pytest.raises(ConfigurationError, match="limit is 1 to 100"):
            await one.ask("latest", {"job": job.id, "limit": 1000})

        assert told[0] == told[1] and latest[0]["missing"] == []
        (kind,) = told[0]["errors"]
        assert (kind["kind"], kind["count"], kind["hosts"], told[0]["missing"]) == ("http-4xx", 20, 20, [])
        assert {page["status"] for page in kind["examples"]} == {404} and len(kind["examples"]) == 3
        times = [item["at"] for item in latest[0]["items"]]
        assert len(times) == 10 and times == sorted(times, reverse=True)
        assert all(item["item"] == {"url": item["url"]} for item in latest[0]["items"])
