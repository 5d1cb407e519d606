"""The picture of docs/rings.md: three rows of bars as SVG text, the same for the same figures."""

from __future__ import annotations

from typing import NamedTuple

_LEFT, _BAR, _STEP, _WIDTH = 130, 16, 24, 520
_STYLE = (
    "text{font:13px sans-serif;fill:#333}.title{font-weight:bold}"
    ".bar{fill:#4a7ab5}.bad{fill:#c8553d}.ideal{stroke:#333;stroke-dasharray:4 3}"
)


class Bar(NamedTuple):
    """One contender's figures."""

    name: str
    largest: float
    """The fullest member's share over its fair share; 1 is ideal."""
    join: float
    """What a join moved over what it must; 1 is ideal."""
    between_stayers: float
    """The part of all slots that moved though both members stayed; 0 is ideal."""


def picture(title: str, bars: list[Bar]) -> str:
    """Draws the picture as SVG text."""
    height = 40 + 3 * (len(bars) * _STEP + 44)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" role="img">',
        f"<style>{_STYLE}</style>",
        f'<rect width="720" height="{height}" fill="#fff"/>',
        f'<text class="title" x="10" y="22">{title}</text>',
    ]
    top = 40
    for heading, values, ideal, form in (
        ("fullest member / fair share", [bar.largest for bar in bars], 1.0, "{:.2f}"),
        ("moved by a join / ideal", [bar.join for bar in bars], 1.0, "{:.2f}"),
        ("moved between those that stay", [bar.between_stayers for bar in bars], 0.0, "{:.1%}"),
    ):
        parts += _rows(heading, list(zip([bar.name for bar in bars], values, strict=True)), ideal, form, top)
        top += len(bars) * _STEP + 44
    return "\n".join([*parts, "</svg>", ""])


def _rows(heading: str, rows: list[tuple[str, float]], ideal: float, form: str, top: int) -> list[str]:
    scale = _WIDTH / max(1.0, ideal, *(value for _, value in rows))
    parts = [f'<text class="title" x="10" y="{top + 14}">{heading}</text>']
    for number, (name, value) in enumerate(rows):
        y = top + 24 + number * _STEP
        kind = "bad" if value > ideal + 0.25 or (not ideal and value > 0.001) else "bar"
        parts += [
            f'<text x="10" y="{y + 13}">{name}</text>',
            f'<rect class="{kind}" x="{_LEFT}" y="{y}" width="{value * scale:.1f}" height="{_BAR}"/>',
            f'<text x="{_LEFT + 6 + value * scale:.1f}" y="{y + 13}">{form.format(value)}</text>',
        ]
    if ideal:
        x = f"{_LEFT + ideal * scale:.1f}"
        parts.append(f'<path class="ideal" d="M{x} {top + 20}V{top + 22 + len(rows) * _STEP}"/>')
    return parts
