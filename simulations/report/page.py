"""The page: what came of one run, or of several side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from ..whole.outcome import Report
from .axes import lasting, number, percent, volume
from .charts import WIDE, Line, lines
from .sections import COLOURS, finished_s, name_of, refetch_share, section, verdict

_STYLE = Path(__file__).with_name("page.css")


def page(reports: Sequence[Report]) -> str:
    """Writes the HTML text. It loads nothing, and shows the same from a disk as from a server."""
    alone = len(reports) == 1
    title = "Simulation: " + " and ".join(name_of(report) for report in reports[:4]) + ("…" if len(reports) > 4 else "")
    body = (
        section(reports[0]) if alone else [*_compared(reports), *(part for each in reports for part in section(each))]
    )
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE.read_text(encoding='utf-8')}</style></head>",
            "<body><main>",
            *body,
            "<footer>Whole peers on a virtual clock, network and web. All times are virtual seconds since the start "
            "unless they are called real. Point at a mark to see its figures.</footer>",
            "</main></body></html>",
            "",
        ]
    )


def _compared(reports: Sequence[Report]) -> list[str]:
    curves = [
        Line(name_of(report), [(s.now_s, s.share) for s in report.series.samples], 1 + place % COLOURS)
        for place, report in enumerate(reports)
    ]
    legend = "".join(f'<span><i class="stroke c{curve.colour}"></i>{escape(curve.name)}</span>' for curve in curves)
    broken = sum(bool(report.violations) for report in reports)
    said = f"{broken} of {len(reports)} runs broke a promise" if broken else f"nothing is amiss in {len(reports)} runs"
    return [
        f"<h1>{len(reports)} simulations side by side</h1>",
        f'<p class="verdict {"bad" if broken else "good"}">{said}</p>',
        '<section class="card"><h3>Coverage</h3><p>Of the pages that can be reached: those that have answered.</p>',
        f'<div class="legend">{legend}</div>',
        lines(curves, label="coverage of all runs over time", form=percent, y_max=1.0, width=WIDE, height=280),
        "</section>",
        '<section class="card"><h3>In figures</h3>',
        _table(
            ["run", "verdict", "finished in", "pages", "requests", "refetched", "absences", "noticed after",
             "buckets moved", "datagrams / page", "bytes / page", "virtual / real"],
            [_row(report) for report in reports],
        ),
        "</section>",
    ]  # fmt: skip


def _row(report: Report) -> list[str]:
    figures = report.figures
    pages = max(1, figures["answered"])
    took = finished_s(report)
    noticed = figures["noticed_s_median"]
    good, said = verdict(report)
    return [
        escape(name_of(report)),
        f'<span class="{"good" if good else "bad"}">{escape(said)}</span>',
        "never" if took is None else lasting(round(took)),
        number(figures["answered"]),
        number(figures["requests"]),
        f"{number(figures['refetched'])} ({refetch_share(report):.1%})",
        number(figures["absences"]),
        "" if noticed is None else lasting(noticed),
        number(figures["moved"]),
        number(round(figures["datagrams"] / pages, 1)),
        volume(figures["bytes"] / pages),
        f"{report.virtual_s / max(report.real_s, 1e-9):.0f}x",
    ]


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    def kind(place: int) -> str:
        return ' class="figure"' if place > 1 else ""

    head = "".join(f"<th{kind(place)}>{escape(text)}</th>" for place, text in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(f"<td{kind(place)}>{cell}</td>" for place, cell in enumerate(row)) + "</tr>" for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
