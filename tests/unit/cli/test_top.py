"""The terminal's view of a cluster: what is drawn at which size, and what keys come to."""

from __future__ import annotations

from typing import Any

import pytest
from rich.cells import cell_len

from p2pcrawl.cli.top.keyboard import keys_in
from p2pcrawl.cli.top.top_screen import screen, shown_seconds
from p2pcrawl.cli.top.top_state import Panel, TopState, WishedTurn

SMALL, LARGE = (80, 24), (200, 50)


def member(number: int, state: str = "alive") -> dict[str, Any]:
    alive = state == "alive"
    return {
        "id": f"{number:08x}" * 5, "address": f"10.0.0.{number}:7117", "api": f"10.0.0.{number}:7180", "state": state,
        "role": "master", "heartbeat_s": 0.4 if alive else None, "share": 0.25, "weight": 1, "drained": False,
        "queued": 1200 if alive else None, "leased": 8 if alive else None, "slaves": 2 if alive else None,
        "cpu": 0.52 if alive else None, "rss_mb": 310 if alive else None, "disk_free_mb": 9_000 if alive else None,
        "view": "2a",
    }  # fmt: skip


def job(number: int, **fields: Any) -> dict[str, Any]:
    left = {"pages": 4000, "seconds": 93.0, "why": "at least: 300 new URLs a minute were found lately, 200 ended"}
    return {
        "job": number, "label": f"news{number}", "name": "news", "state": "running", "reason": "", "pages": 12_345,
        "queued": 4000, "leased": 16, "items": 12_000, "failed": 7, "dropped": 90, "pages_per_s": 41.5,
        "left": left, "settled": True, "final": None,
    } | fields  # fmt: skip


def host(name: str) -> dict[str, Any]:
    return {
        "host": name, "queued": 48, "more": True, "leased": 1, "owner": "a" * 40, "delay_s": 2.0,
        "delay_from": "robots.txt", "next_at": 1_700_000_000.0, "why_slow": "delay",
    }  # fmt: skip


def overview(**fields: Any) -> dict[str, Any]:
    jobs, hosts = [job(number) for number in range(1, 4)], [host(f"h{number}.example") for number in range(90)]
    health = {
        "up": 3, "suspect": 0, "dead": 1, "left": 0, "pages_per_s": 84.2, "items_per_s": 80.0, "errors_per_s": 0.3,
        "frontier": 12_000, "in_flight": 48, "jobs_running": 3, "finished": False, "missing": {},
    }  # fmt: skip
    return {
        "at": 1_700_000_000.0, "cluster": "mine", "view": "2a", "agreed": True, "views": ["2a"],
        "asked": {"id": "1" * 40, "role": "master", "api": "10.0.0.1:7180"}, "health": health,
        "members": [member(1), member(2), member(3), member(4, "dead")],
        "jobs": jobs, "jobs_total": 3, "hosts": hosts, "hosts_total": 90, "warnings": [],
    } | fields  # fmt: skip


def drawn(state: TopState | None = None, size: tuple[int, int] = SMALL, **fields: Any) -> list[str]:
    return [line.plain for line in screen(overview(**fields), [], state or TopState(), size)]


@pytest.mark.parametrize("size", [SMALL, LARGE, (40, 10), (20, 3), (1, 1)])
@pytest.mark.parametrize("state", [TopState(), TopState(looking=True), TopState(helping=True)])
def test_screen_is_as_large_as_the_terminal_and_no_larger(size: tuple[int, int], state: TopState) -> None:
    lines = drawn(state, size, warnings=["one", "two", "three"])

    assert len(lines) == size[1]
    assert all(cell_len(line) <= size[0] for line in lines)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_each_panel_has_its_lines(size: tuple[int, int]) -> None:
    text = "\n".join(drawn(size=size))

    for told in ("cluster mine", "up 3", "dead 1", "84.2 pages/s", "00000004", "news3", "h0.example", "q quit"):
        assert told in text


def test_members_that_do_not_agree_are_seen_in_the_first_line() -> None:
    assert "2 VIEWS" in drawn(agreed=False, views=["2a", "2b"])[0]


@pytest.mark.parametrize("name", ["a\x1b[2Jb", "b\nc", "名前" * 60, "x" * 500, "\u202eexe"])
def test_names_from_outside_do_nothing_to_the_screen(name: str) -> None:
    lines = drawn(jobs=[job(1, label=name)], hosts=[host(name)], warnings=[name])

    assert len(lines) == SMALL[1]
    assert all(cell_len(line) <= SMALL[0] for line in lines)
    assert not any(sign in line for line in lines for sign in "\x1b\n\u202e")


def test_chosen_line_stays_in_sight_and_chosen_when_others_come_before_it() -> None:
    state = TopState(panel=Panel.HOSTS)
    for _ in range(40):
        state.press("down", overview())

    later = overview(hosts=[host("new.example"), *overview()["hosts"]])

    assert state.line(later) == host("h40.example")
    assert any("h40.example" in line.plain for line in screen(later, [], state, SMALL))


def test_line_that_is_gone_gives_way_to_the_first() -> None:
    state = TopState(chosen={Panel.JOBS: 77})

    assert state.line(overview()) == job(1)
    assert state.line(overview(jobs=[])) is None


def test_job_pauses_only_after_a_yes() -> None:
    state = TopState()

    asked = state.press("p", overview())
    question = drawn(state)[-1]
    refused = state.press("n", overview())
    state.press("p", overview())
    agreed = state.press("y", overview())

    assert (asked, refused, agreed) == (None, None, WishedTurn("pause", 1))
    assert question == "pause job 1? y: yes, any other key: no"


def test_paused_job_goes_on_and_one_that_is_over_is_left_alone() -> None:
    paused, over = overview(jobs=[job(1, state="paused")]), overview(jobs=[job(1, state="finished")])
    state = TopState()

    state.press("p", paused)
    assert state.press("y", paused) == WishedTurn("resume", 1)
    state.press("p", over)
    assert state.asked is None
    assert state.message == "job 1 is finished"


def test_what_is_looked_into_is_told_whole_with_what_was_asked_besides() -> None:
    state = TopState()
    state.press("enter", overview())

    text = "\n".join(line.plain for line in screen(overview(), ["  3  http-4xx"], state, LARGE))

    assert "at least: 300 new URLs a minute" in text
    assert "http-4xx" in text
    state.press("escape", overview())
    assert not state.looking


@pytest.mark.parametrize(("panel", "told"), [(Panel.MEMBERS, "of a core"), (Panel.HOSTS, "2 s, from robots.txt")])
def test_masters_and_hosts_can_be_looked_into(panel: Panel, told: str) -> None:
    assert any(told in line for line in drawn(TopState(panel=panel, looking=True)))


def test_panels_go_round_both_ways() -> None:
    state = TopState()

    forth = [state.press("tab", overview()) or state.panel for _ in range(3)]
    back = [state.press("shift-tab", overview()) or state.panel for _ in range(3)]

    assert forth == [Panel.HOSTS, Panel.MEMBERS, Panel.JOBS]
    assert back == [Panel.MEMBERS, Panel.HOSTS, Panel.JOBS]


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        ("\x1b[A\x1bOB", ["up", "down"]),
        ("\x1b", ["escape"]),
        ("\x1bp", ["escape", "p"]),
        ("\x1b\x1b", ["escape", "escape"]),
        ("\x1b[5~q", ["page-up", "q"]),
        ("\x1b[1;5Cq", ["q"]),
        ("\x1b[", []),
        ("\r\t\x7f\x03", ["enter", "tab", "backspace", "ctrl-c"]),
    ],
)
def test_keys_are_told_by_name(sent: str, keys: list[str]) -> None:
    assert list(keys_in(sent)) == keys


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, "?"), (0.4, "0 s"), (61, "1 min 1 s"), (3600, "1 h"), (90_000, "1 d 1 h"), (86_399, "23 h 59 min")],
)
def test_time_is_shown_in_two_units_at_most(seconds: float | None, shown: str) -> None:
    assert shown_seconds(seconds) == shown
