"""Scales and axes of the charts: round numbers where a person expects them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape

LEFT, RIGHT, TOP, BOTTOM = 52, 14, 12, 26
"""The margins of every chart, in units of its drawing."""
_TEXT_WIDTH = 48
_SECONDS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)

Form = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Frame:
    """The area of a chart in which data is drawn, and what it stands for."""

    x_max: float
    y_max: float
    width: float = 640.0
    height: float = 200.0

    def x(self, value: float) -> float:
        return LEFT + (self.width - LEFT - RIGHT) * min(max(value / self.x_max, 0.0), 1.0)

    def y(self, value: float) -> float:
        return self.floor - (self.floor - TOP) * min(max(value / self.y_max, 0.0), 1.0)

    @property
    def floor(self) -> float:
        """The height at which the horizontal axis lies."""
        return self.height - BOTTOM

    def rows(self, form: Form) -> list[str]:
        """Draws the horizontal lines with their values."""
        parts = []
        for value in ticks(self.y_max):
            y = self.y(value)
            parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{self.width - RIGHT}"/>')
            parts.append(f'<text class="tick end" x="{LEFT - 7}" y="{y + 4:.1f}">{escape(form(value))}</text>')
        return parts

    def times(self) -> list[str]:
        """Draws the horizontal axis in virtual time."""
        parts = [f'<path class="axis" d="M{LEFT} {self.floor:.1f}H{self.width - RIGHT}"/>']
        for value in time_ticks(self.x_max):
            text, x = escape(lasting(value)), self.x(value)
            side = "end" if x > self.width - RIGHT - _TEXT_WIDTH / 2 else "middle"
            parts.append(f'<text class="tick {side}" x="{x:.1f}" y="{self.floor + 17:.1f}">{text}</text>')
        return parts


def ticks(most: float, count: int = 4) -> list[float]:
    """Returns round values from 0 up to ``most``."""
    step = round_up(most / count)
    return [step * number for number in range(int(most / step + 1e-9) + 1)]


def time_ticks(most_s: float, count: int = 8) -> list[float]:
    """Returns round moments from 0 up to ``most_s``."""
    step = next((each for each in _SECONDS if most_s / each <= count), round_up(most_s / count))
    return [step * number for number in range(int(most_s / step) + 1)]


def round_up(value: float) -> float:
    """Returns the next of 1, 2, 2.5, 5 and 10, in the value's order of magnitude."""
    if value <= 0:
        return 1.0
    size = 1.0
    while size > value:
        size /= 10
    while size * 10 <= value:
        size *= 10
    return next(size * each for each in (1, 2, 2.5, 5, 10) if size * each >= value * (1 - 1e-9))


def top_of(values: list[float]) -> float:
    """Returns where an axis for these values ends: at a round value that is not below the greatest."""
    most = max(values, default=0.0)
    if most <= 0:
        return 1.0
    step = round_up(most / 4)
    return step * -(-most // step)


# -- how values are written -------------------------------------------------------------------


def lasting(seconds: float) -> str:
    """Writes a length of time, short."""
    if seconds < 60 or seconds % 60:
        if seconds >= 60:
            return f"{int(seconds // 60)}:{int(seconds % 60):02d} min"
        return f"{seconds:.3g} s"
    if seconds < 3600 or seconds % 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"


def percent(share: float) -> str:
    return f"{share:.0%}"


def number(value: float) -> str:
    """Writes a count, or a small figure."""
    if value == int(value):
        return f"{int(value):,}".replace(",", "\u202f")
    return f"{value:.3g}"


def volume(count: float) -> str:
    """Writes a number of bytes."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.3g} {unit}" if unit != "B" else f"{count:.0f} B"
        count /= 1000
    return ""
