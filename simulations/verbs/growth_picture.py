"""The picture of docs/scale.md: a row of bars for each figure, as SVG text, the same for the same figures."""

from __future__ import annotations

from typing import NamedTuple

_LEFT, _BAR, _STEP, _WIDTH = 110, 16, 24, 500
_STYLE = "text{font:13px sans-serif;fill:#333}.title{font-weight:bold}rect.bar{fill:#4a7ab5}"


class Panel(NamedTuple):
    """One figure at several sizes; the bars of a panel have one scale."""

    heading: str
    form: str
    """How a value is written."""
    values: list[tuple[str, float]]


def picture(panels: list[Panel]) -> str:
    """Draws the picture as SVG text."""
    parts: list[str] = []
    top = 10
    for panel in panels:
        scale = _WIDTH / max([value for _, value in panel.values if value > 0], default=1.0)
        parts.append(f'<text class="title" x="10" y="{top + 14}">{panel.heading}</text>')
        for number, (name, value) in enumerate(panel.values):
            y = top + 24 + number * _STEP
            parts += [
                f'<text x="10" y="{y + 13}">{name}</text>',
                f'<rect class="bar" x="{_LEFT}" y="{y}" width="{value * scale:.1f}" height="{_BAR}"/>',
                f'<text x="{_LEFT + 6 + value * scale:.1f}" y="{y + 13}">{panel.form.format(value)}</text>',
            ]
        top += 44 + len(panel.values) * _STEP
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {top}" role="img">',
        f"<style>{_STYLE}</style>",
        f'<rect width="720" height="{top}" fill="#fff"/>',
    ]
    return "\n".join([*head, *parts, "</svg>", ""])
