"""The picture of freshness and cost: two panels, the mean delay and that of the last 5 %, as SVG text, the same for the
same figures. It can be read on a light page and on a dark one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from typing import NamedTuple

from .curve import Point

_WIDTH, _HEIGHT = 360.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 12.0, 54.0, 44.0
_X, _Y = (120.0, 14_400.0), (100.0, 20_000.0)
"""What both panels show: delays in seconds, and fetches a day."""
_X_TICKS = {120.0: "2 min", 600.0: "10 min", 3_600.0: "1 h", 14_400.0: "4 h"}
_Y_TICKS = (100.0, 300.0, 1_000.0, 3_000.0, 10_000.0)
_STYLE = (
    "text{font:13px sans-serif;fill:#333}.small{font-size:11px}.title{font-weight:bold}.middle{text-anchor:middle}"
    ".end{text-anchor:end}.page{fill:#fff}.grid{stroke:#ddd}.fixed{stroke:#c8553d;fill:none}.dot.fixed{fill:#c8553d}"
    ".adaptive{stroke:#4a7ab5;fill:none}.dot.adaptive{fill:#4a7ab5}.least{stroke:#888;fill:none;stroke-dasharray:5 4}"
    ".measured{stroke:#333;fill:none;stroke-width:2}"
    "@media (prefers-color-scheme:dark){text{fill:#ddd}.page{fill:#16181c}.grid{stroke:#3a3d44}.fixed{stroke:#ef8a73}"
    ".dot.fixed{fill:#ef8a73}.adaptive{stroke:#7fb0ec}.dot.adaptive{fill:#7fb0ec}.measured{stroke:#eee}}"
)


class Figures(NamedTuple):
    """The figures that are drawn."""

    fixed: Sequence[Point]
    adaptive: Sequence[Point]
    least_per_day: float
    """Fetches a day, times the mean delay in seconds, with the best period for each page."""
    measured: Sequence[Point]
    """Of clusters."""


def picture(figures: Figures) -> str:
    """Draws the picture as SVG text."""
    width, height = 2 * _WIDTH, _HEIGHT + 24
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        f"<style>{_STYLE}</style>",
        f'<rect class="page" width="{width:.0f}" height="{height:.0f}"/>',
    ]
    return "\n".join(
        [*head, *_panel(figures, 0.0, late=False), *_panel(figures, _WIDTH, late=True), *_legend(), "</svg>", ""]
    )


def _panel(figures: Figures, left: float, *, late: bool) -> list[str]:
    title = "95 % are found within" if late else "found after, on average"
    parts = [f'<text class="title" x="{left + _LEFT:.0f}" y="20">{title}</text>']
    if not late:
        parts.append(f'<text class="small" x="{left + _LEFT:.0f}" y="38">fetches of front pages a day, upwards</text>')
    floor, right = _HEIGHT - _BOTTOM, left + _WIDTH - _RIGHT
    for value in _Y_TICKS:
        y = _at(value, _Y, floor, _TOP)
        parts.append(f'<path class="grid" d="M{left + _LEFT:.1f} {y:.1f}H{right:.1f}"/>')
        parts.append(f'<text class="small end" x="{left + _LEFT - 6:.1f}" y="{y + 4:.1f}">{value:,.0f}</text>')
    for value, text in _X_TICKS.items():
        x = _at(value, _X, left + _LEFT, right)
        side = "end" if value == _X[1] else "middle"
        parts.append(f'<path class="grid" d="M{x:.1f} {_TOP:.1f}V{floor:.1f}"/>')
        parts.append(f'<text class="small {side}" x="{x:.1f}" y="{floor + 17:.1f}">{text}</text>')

    def place(delay_s: float, per_day: float) -> tuple[float, float]:
        return _at(delay_s, _X, left + _LEFT, right), _at(per_day, _Y, floor, _TOP)

    if not late:
        ends = [place(delay_s, figures.least_per_day / delay_s) for delay_s in (240.0, 3_600.0)]
        parts.append(f'<path class="least" d="{_line(ends)}"/>')
    for name, points in (("fixed", figures.fixed), ("adaptive", figures.adaptive)):
        places = [place(point.late_s if late else point.mean_s, point.per_day) for point in points]
        parts.append(f'<path class="{name}" d="{_line(places)}"/>')
        parts += [f'<circle class="dot {name}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in places]
    for point in figures.measured:
        x, y = place(point.late_s if late else point.mean_s, point.per_day)
        parts.append(f'<circle class="measured" cx="{x:.1f}" cy="{y:.1f}" r="7"><title>{point.name}</title></circle>')
    return parts


def _legend() -> list[str]:
    words = (("fixed", "one period for all"), ("adaptive", "adaptive"), ("least", "least that any rule can reach"))
    parts, x = list[str](), _LEFT
    for name, text in words:
        parts.append(f'<path class="{name}" d="M{x:.0f} {_HEIGHT + 4:.0f}h24"/>')
        parts.append(f'<text class="small" x="{x + 30:.0f}" y="{_HEIGHT + 8:.0f}">{text}</text>')
        x += 52 + 6.2 * len(text)
    parts.append(f'<circle class="measured" cx="{x + 10:.0f}" cy="{_HEIGHT + 4:.0f}" r="7"/>')
    parts.append(f'<text class="small" x="{x + 24:.0f}" y="{_HEIGHT + 8:.0f}">a cluster, with its deaths</text>')
    return parts


def _line(places: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)


def _at(value: float, scale: tuple[float, float], first: float, last: float) -> float:
    """Returns where a value lies, between the first and the last place of an axis in powers."""
    share = (log10(value) - log10(scale[0])) / (log10(scale[1]) - log10(scale[0]))
    return first + (last - first) * min(max(share, 0.0), 1.0)
