"""The page in a real browser, before a peer that says what a test wants: rare, large and hostile answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.page.browser import Tab
from tests.cli.conftest import until
from tests.dashboard.conftest import violations
from tests.dashboard.recorded import RecordedPeer, answers, ids, job, overview

pytestmark = pytest.mark.slow

NODES = ids(4)
JOB = job(0)["job"]
TOKEN = "a" * 64
VIEWS = {
    "#/": "Deepest hosts",
    "#/jobs": "quotes-2",
    f"#/jobs/{JOB}": "no answer in 30 s",
    "#/schedules": "and 2 runs before",
    "#/hosts": "www19.example.com",
    "#/explain": "Explain",
    "#/submit": "Name of the job",
}
HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\"'><svg onload=alert(2)>"


@pytest.fixture
def peer() -> Iterator[RecordedPeer]:
    with RecordedPeer(answers(NODES)) as listening:
        yield listening


def shown(tab: Tab, peer: RecordedPeer, view: str = "#/", *, token: str = TOKEN, words: str = "") -> None:
    """Opens a view as somebody does who has the token, and waits until it is there."""
    tab.go(f"http://{peer.address}/{f'#token={token}' if token else ''}")
    tab.until_text("up", "#health")
    if view == "#/":
        tab.until("document.querySelector('#throughput path.line')?.getAttribute('d')")
    else:
        tab.run(f"location.hash = {json.dumps(view)}")
    if view.startswith("#/jobs/"):
        tab.until("document.querySelector('#errors details')")
    tab.run("document.querySelectorAll('main details').forEach((each) => { each.open = true })")
    tab.until_text(words or VIEWS[view], "main")


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_views_are_accessible_fit_and_leave_the_console_empty(
    tab: Tab, peer: RecordedPeer, axe: str, look: str
) -> None:
    tab.prefer(prefers_color_scheme="dark" if look == "dark" else "light")
    if look == "phone":
        tab.size(360, 780, phone=True)

    for view in VIEWS if look == "light" else ("#/", f"#/jobs/{JOB}", "#/hosts"):
        shown(tab, peer, view)
        assert violations(tab, axe) == []
        assert tab.run("document.documentElement.scrollWidth <= innerWidth"), view

    assert tab.complaints == []


@pytest.mark.parametrize("dialog", ["token-box", "sure-box", "host-box"])
def test_dialogs_are_accessible(tab: Tab, peer: RecordedPeer, axe: str, dialog: str) -> None:
    shown(tab, peer, f"#/jobs/{JOB}")
    opener = {"token-box": "#key", "sure-box": "[data-verb=cancel]", "host-box": "#job-hosts tbody button"}[dialog]

    tab.click(opener)
    tab.until(f"document.getElementById('{dialog}').open")

    assert violations(tab, axe) == []
    tab.press("Escape")
    tab.until(f"!document.getElementById('{dialog}').open")


def test_text_of_sites_stays_text(tab: Tab, peer: RecordedPeer) -> None:
    told = peer.answers
    told["/v1/overview"] = lambda _: _hostile(overview(NODES))
    told[f"/v1/jobs/{JOB}/errors"] = {
        "errors": [{"kind": HOSTILE, "count": 1, "hosts": 1, "examples": [
            {"url": "javascript:alert(3)", "host": HOSTILE, "at": 1, "detail": HOSTILE},
            {"url": "http://a.example/\"onmouseover=\"alert(4)", "host": "", "at": 2, "detail": ""}]}]
    }  # fmt: skip
    told[f"/v1/jobs/{JOB}/latest"] = {"items": [{"url": "data:text/html,x", "at": 1, "item": {"a": HOSTILE}}]}

    shown(tab, peer, words=HOSTILE[:20])
    shown(tab, peer, f"#/jobs/{JOB}", words=HOSTILE[:20])
    tab.until_text(HOSTILE[:20], "#items")

    assert tab.run("document.querySelectorAll('main img, main script, [onerror], [onload], [onmouseover]').length") == 0
    schemes = tab.run("[...new Set([...document.querySelectorAll('a[href]')].map((a) => a.protocol))]")
    assert schemes == ["http:"]
    outside = "[...document.querySelectorAll('a[href]')].filter((a) => a.host !== location.host)"
    assert tab.run(f"{outside}.every((a) => a.relList.contains('noreferrer'))")
    assert tab.complaints == []


def test_refresh_keeps_the_focus_and_what_is_typed(tab: Tab, peer: RecordedPeer) -> None:
    shown(tab, peer, f"#/jobs/{JOB}")
    tab.fill("#inject textarea", "https://example.com/half")

    asked = len(peer.asked)
    tab.until(f"performance.getEntriesByType('resource').length > {asked + 8}")

    assert tab.run("document.activeElement.name") == "urls"
    assert tab.run("document.querySelector('#inject textarea').value") == "https://example.com/half"


def test_keyboard_alone_reaches_a_button_and_pauses_a_job(tab: Tab, peer: RecordedPeer) -> None:
    shown(tab, peer)

    tab.press("Tab")
    first = tab.run("document.activeElement.className")
    for _ in range(80):
        tab.press("Tab")
        if tab.run("document.activeElement.dataset.verb") == "pause":
            break
    tab.press("Enter")
    tab.until_text("paused", "#said")

    assert first == "skip"
    assert peer.changes == [("POST", f"/v1/jobs/{JOB}/pause", None)]


def test_change_without_a_token_asks_for_it_and_goes_on(tab: Tab, peer: RecordedPeer) -> None:
    shown(tab, peer, f"#/jobs/{JOB}", token="")

    tab.click("#job-buttons [data-verb=pause]")
    tab.until("document.getElementById('token-box').open")
    tab.fill("#token-box input", TOKEN)
    tab.click("#token-box [value=keep]")
    tab.until_text("paused", "#said")

    assert peer.changes == [("POST", f"/v1/jobs/{JOB}/pause", None)]
    assert tab.run("location.href.includes('token')") is False


def test_page_of_a_peer_that_tells_nothing_without_a_token_asks_for_one(tab: Tab, peer: RecordedPeer) -> None:
    peer.reading_is_free = False
    tab.go(f"http://{peer.address}/")

    tab.until("document.getElementById('token-box').open")
    assert "needs a token" in tab.text("#token-box")
    tab.fill("#token-box input", TOKEN)
    tab.press("Enter")

    tab.until_text("4 up", "#health")


def test_masters_that_see_different_clusters_are_shown_at_once(tab: Tab, peer: RecordedPeer) -> None:
    told = overview(NODES) | {"agreed": False, "views": ["5a1f00c2e4d9b7a0", "0123456789abcdef"]}
    told["members"][2]["view"] = "0123456789abcdef"
    peer.answers["/v1/overview"] = told

    shown(tab, peer)

    assert "2 views" in tab.text("#health")
    assert tab.run("[...document.querySelectorAll('#peers td.bad')].map((cell) => cell.innerText)") == ["01234567"]


def test_warnings_of_the_logs_are_asked_for_when_somebody_opens_them(tab: Tab, peer: RecordedPeer) -> None:
    tab.go(f"http://{peer.address}/")
    tab.until("document.querySelector('#throughput path.line')?.getAttribute('d')")
    before = [path for path in peer.asked if "warnings" in path]

    tab.click("#lines summary")

    tab.until_text(f"{NODES[1][:8]}: a disk is slow", "#lines")
    assert before == []


def test_schedules_show_their_last_runs_with_their_jobs_and_can_be_paused(tab: Tab, peer: RecordedPeer) -> None:
    shown(tab, peer, "#/schedules")

    runs = tab.run("[...document.querySelectorAll('.runs li span')].map((each) => each.textContent)")
    links = tab.run("[...document.querySelectorAll('.runs a[href]')].map((each) => each.getAttribute('href'))")
    tab.run("document.querySelector('[data-view=schedules] button[data-verb=pause]').click()")
    until(lambda: peer.changes != [], "a call")

    assert runs == ["running", "skipped", "finished", "refused: module wine is missing", "finished, by hand"]
    assert links == ["#/jobs/7", "#/jobs/5", "#/jobs/3"]
    assert peer.changes[0][:2] == ("POST", "/v1/schedules/press/pause")


def test_refused_change_is_said(tab: Tab, peer: RecordedPeer) -> None:
    peer.refusal = 409, "it is finished"
    shown(tab, peer, f"#/jobs/{JOB}")

    tab.click("#job-buttons [data-verb=pause]")

    tab.until_text("Not done: it is finished", "#said")


def test_spider_is_submitted_as_it_was_typed(tab: Tab, peer: RecordedPeer) -> None:
    code = 'from p2pcrawl import Spider\n\nclass Quotes(Spider):\n    name = "quotes"\n'
    shown(tab, peer, "#/submit")

    tab.click("#submit [value=code]")
    tab.fill("#submit [name=code]", code)
    tab.fill("#submit [name=settings]", "DEPTH_LIMIT=3\nUSER_AGENT=me")
    tab.click("#submit button")
    tab.until("location.hash.startsWith('#/jobs/')")

    assert peer.changes == [("POST", "/v1/jobs", {
        "name": "quotes", "qualname": "Quotes", "code": code, "file": "spider.py", "arguments": {},
        "settings": {"DEPTH_LIMIT": 3, "USER_AGENT": "me"},
    })]  # fmt: skip


def test_page_that_nobody_sees_asks_nothing(tab: Tab, peer: RecordedPeer) -> None:
    shown(tab, peer)
    tab.run(
        "Object.defineProperty(document, 'visibilityState', {get: () => globalThis.seen ?? 'hidden'});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )

    # What was under way comes, with what it leads to, one question after the other. An answer takes real time, of which
    # a busy machine may have none while a minute passes for the page.
    asked = [len(peer.asked)]
    while len(asked) < 6 and asked[-1] not in asked[1:-1]:
        tab.let_pass(60)
        asked.append(len(peer.asked))
    before, while_hidden = asked[-1], asked[-1] - asked[-2]

    tab.run("globalThis.seen = 'visible'; document.dispatchEvent(new Event('visibilitychange'))")
    until(lambda: len(peer.asked) > before, "it asks again")

    assert while_hidden == 0


def test_thousands_of_hosts_and_jobs_come_a_page_at_a_time(tab: Tab) -> None:
    with RecordedPeer(answers(ids(10), jobs=50, hosts=5000)) as peer:
        shown(tab, peer)
        rows = "document.querySelectorAll('tbody tr').length"
        few = tab.run(rows)
        tab.run("location.hash = '#/hosts'")
        tab.until_text("5,000 hosts, the first 50 shown")
        tab.click("[data-view=hosts] .more")
        tab.until_text("the first 100 shown")

        assert few < 40
        assert tab.run("document.querySelectorAll('#hosts-all tbody tr').length") == 100


def _hostile(told: dict[str, Any]) -> dict[str, Any]:
    for host in told["hosts"]:
        host["host"] += HOSTILE
        host["why_slow"] = HOSTILE
    for each in told["jobs"]:
        each["label"] = HOSTILE + str(each["job"])
    told["warnings"] = [HOSTILE]
    told["members"][1]["api"] = "x/javascript:alert(5)"
    told["events"].append({"id": "9", "at": 5, "kind": "host-down", "peer": "x", "fields": {"host": HOSTILE}})
    return told
