"""The page before real peers at work: what it shows of them, what its buttons do, and what is seen of a death.

The pictures in the docs are made here: ``make pictures``.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from benchmarks.page.browser import Tab
from p2pcrawl.peer.api.tokens import TOKEN_FILE
from tests.cli.conftest import until
from tests.cli.forks import FORKS
from tests.cli.peers import Cluster, asked
from tests.dashboard.conftest import violations
from tests.demo_site import demo_site

pytestmark = pytest.mark.slow

PICTURES = "P2PCRAWL_PICTURES"
"""The folder where pictures are to stay."""
# Pictures are taken of a crawl that has a history.
PAGES, POINTS = (6000, 10) if os.environ.get(PICTURES) else (1500, 0)
SPIDER = """
from p2pcrawl import Spider
class Pages(Spider):
    name = "pages"
    def parse(self, response):
        words = len(response.text.split())
        if words > 395:
            yield {"url": response.url, "title": response.css("title::text").get(), "words": words}
        yield response.follow_all()
"""


@dataclass
class Scene:
    """Three masters at work on a site that lasts."""

    cluster: Cluster
    site: dict[str, Any]
    job: int

    def page(self, number: int) -> str:
        """Returns the address of a peer's dashboard, with its token."""
        token = (self.cluster.folder / f"node{number}" / TOKEN_FILE).read_text().strip()
        return f"http://{self.cluster.peers[number].api}/#token={token}"

    def told(self, path: str, number: int = 0) -> Any:
        return asked(self.cluster.peers[number].api, path)

    def id(self, number: int) -> str:
        return str(self.told("status", number)["here"]["id"])


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    FORKS.begin()
    with demo_site(PAGES, hosts=20) as site, Cluster(tmp_path_factory.mktemp("scene")) as cluster:
        (cluster.folder / "pages.py").write_text(SPIDER)
        for number in range(3):
            cluster.start("--role", "master", "--slaves", 1, "--data", f"node{number}")
        cluster.until_agreed(3)
        yield Scene(cluster, site, _submit(cluster, site))
    FORKS.end()


def _submit(cluster: Cluster, site: dict[str, Any]) -> int:
    target = ["pages.py", "--name", "library", "-a", f"start_urls={site['start']}"]
    target += ["-a", f"allowed_domains={','.join(site['hosts'])}", "-s", "DOWNLOAD_DELAY=0.6"]
    target += ["-s", "ALLOW_PRIVATE_NETWORKS=127.0.0.0/8", "-s", "RETRY_BACKOFF=0.01"]
    return int(cluster.told("submit", *target, "--peer", cluster.peers[0].api)["job"])


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    return Path(os.environ.get(PICTURES) or tmp_path)


def picture(tab: Tab, path: Path) -> None:
    """Keeps what is seen, in as many colours as text and flat areas need, the rare ones among them."""
    tab.shot(path)
    with Image.open(path) as image:
        few = image.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


ALIVE = "document.querySelectorAll('#peers .state.alive').length"
ARCS = "document.querySelectorAll('#ring .arc').length"


def test_peers_at_work_are_seen_by_day_by_night_and_on_a_phone(
    scene: Scene, tab: Tab, axe: str, pictures: Path
) -> None:
    tab.size(1280, 1120)
    tab.go(scene.page(1))
    tab.until(f"{ALIVE} === 3 && {ARCS} === 3")
    until(lambda: scene.told("overview")["health"]["pages_per_s"] > 5, "some pages a second")
    tab.until("/[1-9]/.test(document.querySelector('#health dl > :nth-child(2) dd').innerText)")
    drawn = "(document.querySelector('#throughput path.line')?.getAttribute('d') ?? '')"
    tab.until(f"{drawn}.split(/[ML]/).length > {POINTS}", seconds=150)
    tab.until_text("library", "#jobs-now")
    tab.until_text(scene.site["hosts"][0], "#hosts-now")

    picture(tab, pictures / "dashboard-at-work.png")
    assert violations(tab, axe) == []
    tab.prefer(prefers_color_scheme="dark")
    picture(tab, pictures / "dashboard-dark.png")
    tab.size(390, 844, phone=True)
    tab.prefer(prefers_color_scheme="light")
    picture(tab, pictures / "dashboard-phone.png")

    assert tab.run("document.documentElement.scrollWidth <= innerWidth")
    assert tab.complaints == []


def test_buttons_do_at_the_masters_what_they_say(scene: Scene, tab: Tab, pictures: Path) -> None:
    host = scene.site["hosts"][3]
    tab.size(1280, 1120)
    tab.go(scene.page(2))
    tab.until(f"{ALIVE} === 3")

    tab.run(f"location.hash = '#/jobs/{scene.job}'")
    tab.until_text("library", "[data-view=job] h1")
    tab.until("document.querySelector('#items li') && document.querySelector('#errors details')")
    tab.click("#errors summary")
    picture(tab, pictures / "dashboard-job.png")

    tab.click("#job-buttons [data-verb=pause]")
    until(lambda: scene.told(f"jobs/{scene.job}")["state"] == "paused", "it is paused")
    tab.click("#job-buttons [data-verb=resume]")
    until(lambda: scene.told(f"jobs/{scene.job}")["state"] == "running", "it runs again")

    tab.fill("#settings [name=value]", "0.5")
    tab.click("#settings button")
    tab.until_text("DOWNLOAD_DELAY is 0.5", "#said")

    tab.run("location.hash = '#/hosts'")
    tab.fill("#find [name=find]", host)
    tab.click(f"#hosts-all button[aria-label='Change {host}']")
    tab.fill("#host-box [name=delay]", "2.5")
    tab.click("#host-box [value=yes]")
    tab.until_text("2.5 s", "#hosts-all")
    assert scene.told(f"hosts/{host}")["delay_from"] == "a person"

    tab.run("location.hash = '#/submit'")
    tab.fill("#submit [name=url]", scene.site["start"])
    tab.fill("#submit [name=label]", "from-the-page")
    tab.fill("#submit [name=settings]", "DOWNLOAD_DELAY=30")
    tab.click("#submit button")
    tab.until_text("from-the-page", "[data-view=job] h1")
    tab.click("#job-buttons [data-verb=cancel]")
    tab.click("#sure-box [value=yes]")
    until(lambda: scene.told("jobs/from-the-page")["state"] == "cancelled", "it is cancelled")
    tab.until_text("cancelled", "#job-state")

    tab.run(f"location.hash = '#/explain/{scene.site['start'].replace('/', '%2F')}'")
    tab.until_text("agrees", "#explained")
    assert tab.complaints == []


def test_killed_master_is_shown_as_suspect_then_dead_and_its_buckets_go_to_the_others(
    scene: Scene, tab: Tab, pictures: Path
) -> None:
    tab.size(1280, 1120)
    victim = scene.id(2)[:8]
    tab.go(scene.page(0))
    tab.until(f"{ALIVE} === 3 && {ARCS} === 3")

    scene.cluster.peers[2].end(signal.SIGKILL)

    tab.until("document.querySelector('#peers .state.suspect')")
    state = f"[...document.querySelectorAll('#peers tr')].find((tr) => tr.innerText.includes('{victim}')).innerText"
    tab.until(f"{state}.includes('dead') && document.querySelectorAll('#ring .news path').length > 0")
    tab.until(f"{ARCS} === 2")
    tab.until_text("member dead", "#events")
    tab.until_text(f"peer {victim} is dead", "#said")
    picture(tab, pictures / "dashboard-killed.png")
    assert tab.complaints == []


def test_page_of_a_peer_that_is_killed_goes_on_at_another_in_the_same_view(scene: Scene, tab: Tab) -> None:
    rest = [peer.api for peer in scene.cluster.peers]
    other = rest.pop(1)
    tab.go(scene.page(1))
    tab.until("document.querySelector('#peers .state.alive')")
    tab.run(f"location.hash = '#/jobs/{scene.job}'")
    tab.until_text("library", "[data-view=job] h1")

    scene.cluster.peers[1].end(signal.SIGKILL)

    tab.until_text(f"{other} does not answer", "#trouble")
    # Whichever is the first to answer.
    tab.until(f"{json.dumps(rest)}.includes(location.host)")
    one = tab.run("location.host")
    tab.until_text(f"{other} does not answer any more; this is {one}", "#said")
    tab.until_text("library", "[data-view=job] h1")
