"""Charts as SVG text. Colours come from the page, by class; what a mark stands for is shown when one points at it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import inf

from ..play.series import AWAY, Absence, Detection
from .axes import LEFT, RIGHT, TOP, Form, Frame, lasting, number, top_of

Points = Sequence[tuple[float, float]]

NARROW, WIDE = 640.0, 1240.0
"""The widths of charts that share a row with another, and that have one of their own."""
_HOVER_MAX = 120
_BAND_DARK, _BANDS_DARK = 0.16, 1.6
_NAMES_MAX = 24
"""More bars or rows than this have no names beside them."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart; ``colour`` is 1 to 8."""

    name: str
    points: Points
    colour: int = 1


@dataclass(frozen=True, slots=True)
class Band:
    """A time during which something was the case, or a moment, when both ends are the same."""

    began_s: float
    ended_s: float
    kind: str
    text: str


def lines(
    curves: list[Line],
    *,
    label: str,
    form: Form = number,
    x_max: float | None = None,
    y_max: float | None = None,
    bands: Iterable[Band] = (),
    ceiling: float | None = None,
    width: float = NARROW,
    height: float = 200.0,
    filled: bool = False,
) -> str:
    """Lines over virtual time. ``ceiling`` is what they can reach at most."""
    far = max((x for line in curves for x, _ in line.points), default=1.0)
    frame = Frame(x_max or far or 1.0, y_max or top_of([y for c in curves for _, y in c.points]), width, height)
    parts = [*shaded(frame, bands), *frame.rows(form), *frame.times()]
    if ceiling is not None:
        y = frame.y(ceiling)
        parts.append(f'<path class="mean" d="M{LEFT} {y:.1f}H{frame.width - RIGHT}"/>')
    for line in curves:
        if not line.points:
            continue
        path = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in line.points)
        if filled:
            first, last = frame.x(line.points[0][0]), frame.x(line.points[-1][0])
            edges = f"{first:.1f},{frame.floor:.1f} {path} {last:.1f},{frame.floor:.1f}"
            parts.append(f'<polygon class="area c{line.colour}" points="{edges}"/>')
        parts.append(f'<polyline class="line c{line.colour}" points="{path}"/>')
    return _svg(frame, label, [*parts, *_pointed_at(frame, curves, form)])


def columns(points: Points, *, label: str, step_s: float, x_max: float, bands: Iterable[Band] = ()) -> str:
    """Draws a column for each moment at which there was something."""
    frame = Frame(x_max, top_of([y for _, y in points]))
    wide = max(1.5, frame.x(step_s) - frame.x(0) - 0.5)
    parts = [*shaded(frame, bands), *frame.rows(number), *frame.times()]
    for x, y in points:
        if y:
            top = frame.y(y)
            parts.append(
                f'<rect class="bar c1" x="{frame.x(x) - wide:.1f}" y="{top:.1f}" width="{wide:.1f}"'
                f' height="{frame.floor - top:.1f}"><title>{lasting(x)}: {number(y)}</title></rect>'
            )
    return _svg(frame, label, parts)


def bars(values: dict[str, float], *, label: str, note: str) -> str:
    """Draws a bar for each name, and a line at their mean."""
    frame = Frame(1.0, top_of(list(values.values())))
    slot = (frame.width - LEFT - RIGHT) / max(1, len(values))
    gap = min(6.0, slot * 0.2)
    named = len(values) <= _NAMES_MAX
    parts = frame.rows(number)
    parts.append(f'<path class="axis" d="M{LEFT} {frame.floor:.1f}H{frame.width - RIGHT}"/>')
    for place, (name, value) in enumerate(values.items()):
        left, top = LEFT + place * slot + gap / 2, frame.y(value)
        wide = min(slot - gap, 48.0)
        left += (slot - gap - wide) / 2
        parts.append(
            f'<rect class="bar c1" x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{frame.floor - top:.1f}"'
            f' rx="1.5"><title>{escape(name)}: {number(value)} {escape(note)}</title></rect>'
        )
        if named:
            middle = left + wide / 2
            parts.append(f'<text class="tick middle" x="{middle:.1f}" y="{frame.floor + 17}">{escape(name)}</text>')
    if values:
        y = frame.y(sum(values.values()) / len(values))
        parts.append(f'<path class="mean" d="M{LEFT} {y:.1f}H{frame.width - RIGHT}"/>')
    return _svg(frame, label, parts)


def ranges(detections: Sequence[Detection], *, label: str, x_max: float) -> str:
    """Draws for each time that a master went away from when the first other noticed to when the last one did."""
    ends = [each for d in detections for each in (d.first_s, d.last_s) if each != inf]
    frame = Frame(x_max, top_of(ends))
    parts = [*frame.rows(lasting), *frame.times()]
    for each in detections:
        x = frame.x(each.began_s)
        what = escape(f"{each.name} went away at {lasting(round(each.began_s, 1))}")
        if each.first_s == inf:
            parts.append(
                f'<circle class="missed" cx="{x:.1f}" cy="{frame.floor - 5:.1f}" r="4">'
                f"<title>{what}: back before anybody gave it up</title></circle>"
            )
            continue
        last = each.first_s if each.last_s == inf else each.last_s
        last_text = f"the last after {lasting(last)}" if last > each.first_s else "and so did the last"
        whole = "" if each.last_s != inf else ", back before all had"
        parts.append(
            f"<g><title>{what}; the first noticed after {lasting(each.first_s)}, {last_text}{whole}"
            f'</title><path class="range" d="M{x:.1f} {frame.y(each.first_s):.1f}V{frame.y(last):.1f}"/>'
            f'<circle class="dot c1" cx="{x:.1f}" cy="{frame.y(each.first_s):.1f}" r="3.5"/>'
            f'<circle class="dot c{2 if whole else 1}" cx="{x:.1f}" cy="{frame.y(last):.1f}" r="3.5"/></g>'
        )
    return _svg(frame, label, parts)


def presence(names: Sequence[str], absences: Sequence[Absence], bands: Sequence[Band], *, x_max: float) -> str:
    """Draws a row for each master: when it was up, down or paused, with what happened to the network behind it."""
    high = 17.0 if len(names) <= _NAMES_MAX else max(2.0, 300.0 / len(names))
    frame = Frame(x_max, 1.0, WIDE, TOP + high * len(names) + 30)
    parts = [*shaded(frame, bands), *frame.times()]
    place = {name: TOP + high * row for row, name in enumerate(names)}
    thin = high * (0.3 if len(names) <= _NAMES_MAX else 0.1)
    for name, y in place.items():
        parts.append(
            f'<rect class="there" x="{LEFT}" y="{y + thin / 2:.1f}" width="{frame.width - LEFT - RIGHT}"'
            f' height="{high - thin:.1f}" rx="1.5"/>'
        )
        if len(names) <= _NAMES_MAX:
            parts.append(f'<text class="tick end" x="{LEFT - 7}" y="{y + high - 4.5:.1f}">{escape(name)}</text>')
    for each in absences:
        if each.name not in place:
            continue
        left, right = frame.x(each.began_s), frame.x(min(each.ended_s, x_max))
        until = f"to {lasting(round(each.ended_s, 1))}" if each.ended_s != inf else "to the end"
        parts.append(
            f'<rect class="{kind_of(each)}" x="{left:.1f}" y="{place[each.name] + thin / 2:.1f}"'
            f' width="{max(2.0, right - left):.1f}" height="{high - thin:.1f}" rx="1.5">'
            f"<title>{escape(each.name)} {each.what} from {lasting(round(each.began_s, 1))} {until}</title></rect>"
        )
    return _svg(frame, "when each master was there", parts)


def kind_of(absence: Absence) -> str:
    """Returns the class that colours what happened."""
    return absence.what if absence.what in AWAY else "other"


def shaded(frame: Frame, bands: Iterable[Band]) -> list[str]:
    """Draws what happened meanwhile, behind the data."""
    parts = []
    bands = list(bands)
    # Where many lie on each other they should still let the data through.
    dark = min(_BAND_DARK, _BANDS_DARK / max(1, len(bands)))
    for band in bands:
        left, right = frame.x(band.began_s), frame.x(min(band.ended_s, frame.x_max))
        parts.append(
            f'<rect class="band {band.kind}" x="{left:.1f}" y="{TOP}" width="{max(1.2, right - left):.1f}"'
            f' height="{frame.floor - TOP:.1f}" opacity="{dark:.3f}"><title>{escape(band.text)}</title></rect>'
        )
    return parts


def _pointed_at(frame: Frame, curves: list[Line], form: Form) -> list[str]:
    """Draws invisible columns that show the values at their moment."""
    longest = max((line.points for line in curves), key=len, default=())
    chosen = [x for x, _ in longest[:: max(1, len(longest) // _HOVER_MAX)]]
    wide = (frame.width - LEFT - RIGHT) / max(1, len(chosen))
    parts = []
    for x in chosen:
        values = [(line.name, _at(line.points, x)) for line in curves]
        shown = "\n".join(f"{name}: {form(value)}" for name, value in values if value is not None)
        middle = frame.x(x)
        parts.append(
            f'<g class="point"><rect x="{middle - wide / 2:.1f}" y="{TOP}" width="{wide:.1f}"'
            f' height="{frame.floor - TOP:.1f}"/><path d="M{middle:.1f} {TOP}V{frame.floor:.1f}"/>'
            f"<title>{escape(lasting(round(x, 1)))}\n{escape(shown)}</title></g>"
        )
    return parts


def _at(points: Points, x: float) -> float | None:
    """Returns the last value that is not later."""
    if not points or x > points[-1][0] + 1.0:
        return None
    return next((y for each, y in reversed(points) if each <= x), None)


def _svg(frame: Frame, label: str, parts: list[str]) -> str:
    box = f"0 0 {frame.width:.0f} {frame.height:.0f}"
    return f'<svg viewBox="{box}" role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'
