"""Draws pictures of these pages from the code itself: ``python docs/draw.py``. A test wants them to be up to date."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).resolve().parent
PACKAGE = DOCS.parent / "p2pcrawl"

STYLE = (
    "text{font:13px sans-serif;fill:#222}.name{font-weight:bold}.small{font-size:11px;fill:#555}"
    ".middle{text-anchor:middle;stroke:#fff;stroke-width:4px;paint-order:stroke}"
    ".layer{fill:#eef2f8;stroke:#8fa6c8}.room{fill:#fff;stroke:#8fa6c8}.state{fill:#fff;stroke:#4a7ab5;stroke-width:2}"
    ".verb{fill:none;stroke:#4a7ab5}.itself{fill:none;stroke:#999;stroke-dasharray:5 3}"
)

FIRST, LAST = "<!-- rooms, drawn by docs/draw.py -->", "<!-- end of rooms -->"
FIRST_CALL, LAST_CALL = "<!-- operations, drawn by docs/draw.py -->", "<!-- end of operations -->"

Graph = dict[str, set[str]]
"""Who imports whom."""


def main() -> int:
    """Writes all pictures."""
    sys.path.insert(0, str(PACKAGE.parent))
    for name, text in drawn().items():
        (DOCS / name).write_text(text, encoding="utf-8")
        print(f"docs/{name}")
    return 0


def drawn() -> dict[str, str]:
    """Returns the texts of all files that are drawn, whole or in part, by their names."""
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    pages = {"architecture.md": with_rooms(page), "api.md": with_operations((DOCS / "api.md").read_text("utf-8"))}
    pages["freshness.svg"] = freshness()
    states = {
        "job-states.svg": job_states(),
        "bucket-states.svg": bucket_states(),
        "session-states.svg": session_states(),
    }
    return {"rooms.svg": rooms(), **states, **pages}


def freshness() -> str:
    """Draws the cost of freshness from the figures that ``python -m simulations news --kept`` has kept; as it is where
    the libraries are not installed.
    """
    try:
        from simulations.news.figures import drawn as drawn_from
    except ModuleNotFoundError as error:
        print(f"docs/freshness.svg stays as it is: {error}; .venv/bin/python has it", file=sys.stderr)
        return (DOCS / "freshness.svg").read_text("utf-8")
    return drawn_from(json.loads((DOCS / "freshness.json").read_text("utf-8")))


def with_operations(page: str) -> str:
    """Returns the page with the table of the operations of the API; as it is where the libraries are not installed."""
    try:
        from p2pcrawl.peer.api.table.every_operation import OPERATIONS
    except ModuleNotFoundError as error:
        print(f"docs/api.md stays as it is: {error}; .venv/bin/python has it", file=sys.stderr)
        return page
    before, rest = page.split(FIRST_CALL)
    _, after = rest.split(LAST_CALL)
    rows = ["| call | rank | what it does |", "|---|---|---|"]
    rows += [f"| `{each.method} {each.path}` | {each.rank} | {each.summary} |" for each in OPERATIONS]
    return "\n".join([f"{before}{FIRST_CALL}", "", *rows, "", f"{LAST_CALL}{after}"])


def with_rooms(page: str) -> str:
    """Returns the page with its table of rooms as they describe themselves, in the first lines of their packages."""
    before, rest = page.split(FIRST)
    _, after = rest.split(LAST)
    rows = ["| room | what is in it |", "|---|---|"]
    faces = _faces()
    for path in sorted(PACKAGE.glob("*/*/__init__.py")):
        if path.parent.parent.name in faces:
            continue
        line = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()[0]
        rows.append(
            f"| `{'.'.join(path.parent.relative_to(PACKAGE).parts)}` | {line.replace('``', '`').removesuffix('.')} |"
        )
    return "\n".join([f"{before}{FIRST}", "", *rows, "", f"{LAST}{after}"])


# -- layers and rooms


class Box(NamedTuple):
    """Something with a name, a word on what else is in it, and rows of boxes, the highest first."""

    name: str
    beside: str = ""
    rows: Sequence[Sequence[Box]] = ()

    @property
    def width(self) -> int:
        return max([8 * len(self.name) + 24, 6 * len(self.beside) + 24, *(_across(row) + 20 for row in self.rows)])

    @property
    def head(self) -> int:
        return 42 if self.beside else 28

    @property
    def height(self) -> int:
        return self.head + sum(_height(row) + 8 for row in self.rows)


def rooms() -> str:
    """Draws layers and their rooms: each stands above all that it imports."""
    graph = _graph()
    rows = [[_layer(name, graph) for name in level] for level in _levels(_grouped(graph, 1))]
    width = max(map(_across, rows)) + 20
    parts: list[str] = []
    top = 10
    for row in rows:
        parts += _drawn(row, (width - _across(row)) // 2, top, "layer")
        top += _height(row) + 16
    return _svg(width, top, parts)


def _layer(names: str, graph: Graph) -> Box:
    """Returns the box of a layer with its rooms, and the names of the modules that are in none if it has any."""
    own = {module: to for module, to in graph.items() if _group(module, 1) in names.split(" + ")}
    parts = {name: to for name, to in _grouped(own, 2).items() if "." in name}
    inside = {name: to for name, to in parts.items() if (PACKAGE / name.replace(".", "/")).is_dir()}
    levels = _levels({name: to & set(inside) for name, to in inside.items()})
    rows = [[Box(" + ".join(map(_last, name.split(" + ")))) for name in level] for level in levels]
    with_rooms = {_group(name, 1) for name in inside}
    loose = [name for name in parts if name not in inside and _group(name, 1) in with_rooms and "__" not in name]
    return Box(names, f"beside them: {', '.join(map(_last, loose))}" if loose else "", rows)


def _levels(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Returns rows, the highest first; in each those that import nothing of their row and of those above.

    Those that import each other are one, with all their names.
    """
    rows: list[list[str]] = []
    placed: set[str] = set()
    left = dict(graph)
    while left:
        ready = sorted(name for name, to in left.items() if to - {name} <= placed)
        if not ready:
            knot = min(
                (frozenset(_reached(name, left)) for name in left), key=lambda names: (len(names), sorted(names))
            )
            rows.append([" + ".join(sorted(knot))])
            ready = sorted(knot)
        else:
            rows.append(ready)
        placed |= set(ready)
        left = {name: to for name, to in left.items() if name not in placed}
    return rows[::-1]


def _reached(name: str, graph: Mapping[str, set[str]]) -> set[str]:
    seen, ahead = set(), [name]
    while ahead:
        each = ahead.pop()
        if each not in seen and each in graph:
            seen.add(each)
            ahead += graph[each]
    return seen


def _grouped(graph: Graph, depth: int) -> Graph:
    """Returns the graph of the packages of that depth."""
    groups: Graph = {}
    for module, to in graph.items():
        groups.setdefault(_group(module, depth), set()).update(_group(each, depth) for each in to)
    return groups


def _group(module: str, depth: int) -> str:
    return ".".join(module.split(".")[:depth])


def _last(module: str) -> str:
    return module.rpartition(".")[2]


def _graph() -> Graph:
    """Returns which modules of the package import which others, by their names below it; without the faces."""
    from tests.imports import arrows_of, modules_under

    faces = _faces()
    modules = {name: path for name, path in modules_under(PACKAGE).items() if not faces & {*name.split(".")[1:2]}}
    graph: Graph = {}
    for module, path in modules.items():
        arrows = arrows_of(path.read_text(encoding="utf-8"), module, path.name == "__init__.py")
        found = (each.target if each.target in modules else each.target.rpartition(".")[0] for each in arrows)
        graph[_below(module)] = {_below(each) for each in found if each in modules}
    return graph


def _faces() -> frozenset[str]:
    from tests.faces import face_parts

    return face_parts(PACKAGE)


def _below(module: str) -> str:
    return module.removeprefix("p2pcrawl.")


def _across(row: Iterable[Box]) -> int:
    return sum(box.width + 12 for box in row) - 12


def _height(row: Iterable[Box]) -> int:
    return max(box.height for box in row)


def _drawn(row: Sequence[Box], left: int, top: int, kind: str) -> Iterator[str]:
    """Yields a row of boxes, and what is in them."""
    for box in row:
        yield f'<rect class="{kind}" x="{left}" y="{top}" width="{box.width}" height="{_height(row)}" rx="6"/>'
        yield f'<text class="name" x="{left + 10}" y="{top + 18}">{box.name}</text>'
        if box.beside:
            yield f'<text class="small" x="{left + 10}" y="{top + 33}">{box.beside}</text>'
        below = top + box.head
        for each in box.rows:
            yield from _drawn(each, left + 10, below, "room")
            below += _height(each) + 8
        left += box.width + 12


# -- states

Places = Mapping[str, tuple[int, int]]
"""Where states stand: their middles."""

JOB_PLACES: Places = {
    "running": (110, 50),
    "paused": (110, 290),
    "incomplete": (430, 170),
    "finished": (750, 50),
    "cancelled": (430, 360),
    "deleted": (750, 300),
}
BUCKET_PLACES: Places = {
    "away": (90, 290),
    "agreed": (90, 500),
    "giving": (370, 500),
    "returning": (370, 250),
    "claimed": (370, 70),
    "vouched": (660, 190),
    "beginning": (660, 45),
    "served": (950, 135),
    "left over": (950, 420),
    "let go": (660, 500),
}
SESSION_PLACES: Places = {
    "opened": (90, 60),
    "turned away": (90, 290),
    "at work": (360, 60),
    "leaving": (360, 290),
    "parted": (600, 440),
    "severed": (650, 290),
    "void": (650, 60),
    "over": (950, 170),
    "left": (950, 440),
}
BY_THEMSELVES = (
    ("running", "finished", "nothing is left"),
    ("running", "incomplete", "nothing is left in reach"),
    ("incomplete", "finished", "all is in reach"),
    ("incomplete", "running", "work is back"),
    ("finished", "running", "work is back"),
)
"""What the masters do without being told."""
HALF = (62, 20)
APART = 9
"""How far an arrow is to the side of the line between two states, so that one back has its own."""


def job_states() -> str:
    """Draws a job's states, with the verbs of ``core.control`` that lead from one to another."""
    from p2pcrawl.core.control import ENDS, PAUSED, RUNNING, VERBS, Control, steered

    arrows: dict[tuple[str, str], list[str]] = {}
    for state in (RUNNING, PAUSED, *ENDS):
        for verb in VERBS:
            after = steered(Control(state=state), verb)
            if after is not None and after.state != state:
                arrows.setdefault((state, after.state), []).append(verb)
    parts = [_TIP]
    for (before, after), verbs in arrows.items():
        parts += _arrow(JOB_PLACES, before, after, ", ".join(verbs), "verb", 0.3)
    for before, after, why in BY_THEMSELVES:
        parts += _arrow(JOB_PLACES, before, after, why, "itself", 0.62)
    return _svg(860, 410, [*parts, *_states(JOB_PLACES)])


def bucket_states() -> str:
    """Draws a bucket's states at one master, with the events that lead from one to another."""
    from p2pcrawl.core.buckets.bucket_states import TRANSITIONS

    return _svg(1040, 550, _of_table(BUCKET_PLACES, TRANSITIONS))


def session_states() -> str:
    """Draws the states of a slave's session at its master, with the events that lead from one to another."""
    from p2pcrawl.core.group.session_states import TRANSITIONS

    return _svg(1020, 480, _of_table(SESSION_PLACES, TRANSITIONS))


def _of_table(places: Places, table: Mapping[Enum, Mapping[Any, tuple[Enum, object]]]) -> list[str]:
    """Returns the parts of a picture of a table of transitions, but for those that change nothing."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for before, steps in table.items():
        for event, (after, _) in steps.items():
            if after is not before:
                arrows.setdefault((_spaced(before.name), _spaced(after.name)), []).append(_spaced(event.name))
    parts = [_TIP]
    for (before_name, after_name), events in arrows.items():
        parts += _arrow(places, before_name, after_name, ", ".join(events), "verb", 0.36)
    return [*parts, *_states(places)]


def _spaced(name: str) -> str:
    return name.lower().replace("_", " ")


_TIP = (
    '<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#555"/></marker>'
)


def _states(places: Places) -> Iterator[str]:
    """Yields the states as boxes with their names."""
    wide, high = HALF
    for name, (x, y) in places.items():
        corner = f'x="{x - wide}" y="{y - high}"'
        yield f'<rect class="state" {corner} width="{2 * wide}" height="{2 * high}" rx="8"/>'
        yield f'<text class="name middle" x="{x}" y="{y + 5}">{name}</text>'


def _arrow(places: Places, before: str, after: str, label: str, kind: str, share: float) -> Iterator[str]:
    """Yields an arrow from border to border, and its label at a share of the way."""
    (x, y), (to_x, to_y) = places[before], places[after]
    length = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5
    along = ((to_x - x) / length, (to_y - y) / length)
    # A verb and what happens by itself may lead the same way.
    aside = APART if kind == "verb" else APART * 2
    x, y, to_x, to_y = (
        each + aside * part for each, part in zip((x, y, to_x, to_y), (-along[1], along[0]) * 2, strict=True)
    )
    edge = min(half / abs(part) for half, part in zip(HALF, along, strict=True) if part)
    x, y, to_x, to_y = x + edge * along[0], y + edge * along[1], to_x - edge * along[0], to_y - edge * along[1]
    yield f'<path class="{kind}" marker-end="url(#tip)" d="M{x:.0f} {y:.0f}L{to_x:.0f} {to_y:.0f}"/>'
    x, y = x + share * (to_x - x), y + share * (to_y - y) + 4
    yield f'<text class="small middle" x="{x:.0f}" y="{y:.0f}">{label}</text>'


# -- all of them


def _svg(width: int, height: int, parts: Iterable[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
    back = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", back, *parts, "</svg>", ""])


if __name__ == "__main__":
    sys.exit(main())
