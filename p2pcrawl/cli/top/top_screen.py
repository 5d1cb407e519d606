"""The screen of ``top``: an overview of the cluster as lines, as many and as wide as the terminal has room for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from p2pcrawl.cli.screen.words import counted
from p2pcrawl.cli.top.top_state import KEYS_OF, Panel, TopState
from p2pcrawl.model.printable import on_one_line

Line = dict[str, Any]
Column = tuple[str, int, Callable[[Line], str]]
"""A title, a width (below zero: figures, to the right; 0: what is left of the line), and the cell of a line."""

WARNINGS_MAX: Final = 2
_BAD: Final = ("dead", "suspect", "missing", "cancelled", "incomplete")
_KEYS: Final = "Tab panel  ↑↓ choose  Enter look into  p pause/go on  h keys  q quit"
_HELP: Final = (
    "Tab, ← →, 1 2 3   go to masters, jobs, hosts",
    "↑ ↓, k j          choose a line; PgUp, PgDn: ten at once",
    "Enter             look into it; Esc goes back",
    "p                 let the chosen job pause, or go on",
    "q, Ctrl-C         leave; the cluster goes on",
)


def screen(overview: Line, more: Sequence[str], state: TopState, size: tuple[int, int]) -> list[Text]:
    """Draws the whole screen. ``more``: what else is known of the line that is looked into. ``size``: columns and
    rows."""
    width, height = size
    head = [*_head(overview), *_warnings(overview)]
    room = max(0, height - len(head) - 1)
    if state.helping:
        body = [Text(line) for line in ("", *_HELP)]
    elif state.looking and (line := state.line(overview)) is not None:
        body = [Text(""), *(Text(on_one_line(each)) for each in (*_looked_into(state.panel, line), *more))]
    else:
        body = list(_panels(overview, state, width, room))
    body = [*body[:room], *(Text("") for _ in range(room - len(body)))]
    lines = [*head, *body, _foot(state)][:height]
    for each in lines:
        each.truncate(width, overflow="ellipsis")
    return lines


def shown_seconds(seconds: float | None) -> str:
    """Says a length of time in two units at most."""
    if seconds is None:
        return "?"
    whole = int(seconds)
    for size, unit, smaller, below in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {unit} {rest} {below}" if rest else f"{whole // size} {unit}"
    return f"{whole} s"


def _head(o: Line) -> Iterator[Text]:
    asked, health = o.get("asked") or {}, o["health"]
    clock = datetime.fromtimestamp(o["at"]).strftime("%H:%M:%S")
    views = ("agreed", "green") if o["agreed"] else (f"{len(o['views'])} VIEWS", "bold red")
    title = (f"cluster {on_one_line(o['cluster'])}", "bold")
    yield Text.assemble(title, f"  at {asked.get('api', '?')}  {clock}  ", views)
    states = [("up", "green"), ("suspect", "yellow"), ("dead", "red"), ("left", "dim")]
    counts = [(f"{name} {health[name]} ", style if health[name] else "dim") for name, style in states]
    end = "finished" if health["finished"] else f"{counted(health['jobs_running'], 'job')} run"
    speeds = f" {health['pages_per_s']:,.1f} pages/s {health['errors_per_s']:,.1f} errors/s"
    yield Text.assemble(*counts, (speeds, "bold cyan"), f"  {health['frontier']:,} queued  {end}")


def _warnings(o: Line) -> Iterator[Text]:
    for warning in o["warnings"][:WARNINGS_MAX]:
        yield Text(f"! {on_one_line(warning)}", style="yellow")
    if len(o["warnings"]) > WARNINGS_MAX:
        yield Text(f"! and {len(o['warnings']) - WARNINGS_MAX} more", style="yellow")


def _foot(state: TopState) -> Text:
    if state.asked is not None:
        return Text(f"{state.asked.verb} job {state.asked.job}? y: yes, any other key: no", style="bold reverse")
    return Text(on_one_line(state.message), style="bold") if state.message else Text(_KEYS, style="dim")


# -- tables -------------------------------------------------------------------------------------------


def _panels(o: Line, state: TopState, width: int, room: int) -> Iterator[Text]:
    """Shares the room out: masters get what they need up to a third, jobs likewise of the rest, hosts what is left."""
    lines = {panel: o[panel] for panel in Panel}
    room -= len(Panel)
    masters = min(len(lines[Panel.MEMBERS]), max(2, room // 3))
    jobs = min(len(lines[Panel.JOBS]), max(2, (room - masters) // 2))
    hosts = min(len(lines[Panel.HOSTS]), room - masters - jobs)
    jobs = min(len(lines[Panel.JOBS]), room - masters - hosts)
    rooms = {Panel.MEMBERS: masters, Panel.JOBS: jobs, Panel.HOSTS: hosts}
    totals = {Panel.MEMBERS: len(lines[Panel.MEMBERS]), Panel.JOBS: o["jobs_total"], Panel.HOSTS: o["hosts_total"]}
    for panel in Panel:
        yield from _table(panel, lines[panel], totals[panel], state, width, rooms[panel])


def _table(panel: Panel, lines: Sequence[Line], total: int, state: TopState, width: int, room: int) -> Iterator[Text]:
    here = panel is state.panel
    columns = _COLUMNS[panel]
    title = f"{_TITLES[panel]} {total:,}"
    heads = _cells(columns, [title, *(name for name, _, _ in columns[1:])], width)
    yield Text(heads, style="bold reverse" if here else "reverse dim")
    keys = [line[KEYS_OF[panel]] for line in lines]
    chosen = state.chosen.get(panel)
    place = keys.index(chosen) if chosen in keys else 0
    first = min(max(0, place - room + 1), max(0, len(lines) - room))
    for number, line in enumerate(lines[first : first + max(0, room)], first):
        style = "on grey23 bold" if here and number == place else ""
        bad = "red" if line.get("state") in _BAD else ""
        yield Text(_cells(columns, [cell(line) for _, _, cell in columns], width), style=f"{style} {bad}".strip())


def _cells(columns: Sequence[Column], cells: Sequence[str], width: int) -> str:
    rest = width - sum(abs(size) + 1 for _, size, _ in columns if size) - 1
    parts = []
    for (_, size, _), cell in zip(columns, cells, strict=True):
        text, room = on_one_line(cell), abs(size) if size else max(4, rest)
        if cell_len(text) > room:
            text = set_cell_size(text, room - 1) + "…"
        pad = " " * (room - cell_len(text))
        parts.append(pad + text if size < 0 else text + pad)
    return " ".join(parts)


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:,}"


def _share_of_core(line: Line) -> str:
    return "?" if line["cpu"] is None else f"{line['cpu']:.0%}"


def _state_of_job(line: Line) -> str:
    return f"{line['state']}, not final" if line["final"] is False and line["state"] == "finished" else line["state"]


def _rest_of(line: Line) -> str:
    left = line["left"]
    about = ">" if left["why"].startswith("at least") else ""
    return f"{about}{shown_seconds(left['seconds'])}"


def _queue_of(line: Line) -> str:
    return f"{line['queued']:,}{'+' if line['more'] else ''}"


_TITLES: Final = {Panel.MEMBERS: "masters", Panel.JOBS: "jobs", Panel.HOSTS: "hosts"}
_COLUMNS: Final[dict[Panel, Sequence[Column]]] = {
    Panel.MEMBERS: (
        ("", 12, lambda m: m["id"][:8]),
        ("state", 8, lambda m: m["state"]),
        ("address", 0, lambda m: m["address"]),
        ("share", -5, lambda m: f"{m['share']:.0%}"),
        ("queued", -8, lambda m: _number(m["queued"])),
        ("leased", -6, lambda m: _number(m["leased"])),
        ("cpu", -5, _share_of_core),
        ("MB", -6, lambda m: _number(m["rss_mb"])),
        ("heard", -6, lambda m: "?" if m["heartbeat_s"] is None else f"{m['heartbeat_s']:.1f}"),
    ),
    Panel.JOBS: (
        ("", 0, lambda j: j["label"] or j["name"]),
        ("state", 10, _state_of_job),
        ("pages", -9, lambda j: f"{j['pages']:,}"),
        ("queued", -9, lambda j: f"{j['queued']:,}"),
        ("failed", -7, lambda j: f"{j['failed']:,}"),
        ("per s", -6, lambda j: f"{j['pages_per_s']:,.1f}"),
        ("left", -10, _rest_of),
    ),
    Panel.HOSTS: (
        ("", 0, lambda h: h["host"]),
        ("queued", -9, _queue_of),
        ("leased", -6, lambda h: _number(h["leased"])),
        ("delay", -6, lambda h: f"{h['delay_s']:.1f}"),
        ("waits for", 26, lambda h: h["why_slow"] or "-"),
    ),
}


# -- one line, looked into ----------------------------------------------------------------------------


def _looked_into(panel: Panel, line: Line) -> Iterator[str]:
    match panel:
        case Panel.MEMBERS:
            yield from _member(line)
        case Panel.JOBS:
            yield from _job(line)
        case Panel.HOSTS:
            yield from _host(line)


def _member(m: Line) -> Iterator[str]:
    yield f"{m['role']} {m['id']}"
    yield f"  state      {m['state']}{', leaving' if m['drained'] else ''}"
    yield f"  address    {m['address']}, API {m['api'] or '-'}"
    yield f"  heard      {'not lately' if m['heartbeat_s'] is None else shown_seconds(m['heartbeat_s']) + ' ago'}"
    yield f"  share      {m['share']:.1%} of the buckets, weight {m['weight']}"
    yield f"  work       {_number(m['queued'])} queued, {_number(m['leased'])} leased, {_number(m['slaves'])} slaves"
    free = "?" if m["disk_free_mb"] is None else f"{m['disk_free_mb']:,} MB"
    yield f"  machine    {_share_of_core(m)} of a core, {_number(m['rss_mb'])} MB, {free} free on its disk"
    yield f"  view       {m['view'] or '?'}"


def _job(j: Line) -> Iterator[str]:
    left = j["left"]
    yield f"job {j['job']} {j['label']} ({j['name']})"
    reason = f" ({j['reason']})" if j["reason"] else ""
    yield f"  state      {_state_of_job(j)}{reason}"
    yield f"  pages      {j['pages']:,} at {j['pages_per_s']:,.1f}/s, {j['items']:,} items"
    yield f"  queue      {j['queued']:,} queued, {j['leased']:,} leased"
    yield f"  ended      {j['failed']:,} failed, {j['dropped']:,} dropped"
    yield f"  left       {_number(left['pages'])} URLs, {_rest_of(j)}: {left['why']}"
    if not j["settled"]:
        yield "  buckets are changing hands: these figures are not settled"


def _host(h: Line) -> Iterator[str]:
    at = "now" if h["next_at"] is None else datetime.fromtimestamp(h["next_at"]).strftime("%H:%M:%S")
    yield h["host"]
    yield f"  owner      {h['owner'][:8]}"
    yield f"  queue      {_queue_of(h)} queued, {_number(h['leased'])} leased"
    yield f"  delay      {h['delay_s']:g} s, from {h['delay_from'] or '-'}"
    yield f"  next       {at}{', waits for ' + h['why_slow'] if h['why_slow'] else ''}"
