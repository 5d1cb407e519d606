"""One run on the page: its verdict, its pictures, and what was done to it."""

from __future__ import annotations

from html import escape
from itertools import pairwise
from math import inf

from ..observe.incidents import PAUSE, SET_BACK, Incident
from ..play.series import AWAY
from ..whole.outcome import Report
from .axes import lasting, number, percent, volume
from .charts import WIDE, Band, Line, bars, columns, kind_of, lines, presence, ranges
from .telling import shortened

FINISHED = "nothing is left to do"
NETWORK = "partition"
NOT_BANDS = frozenset({"crash", "power loss", PAUSE, SET_BACK})
"""Shown as absences."""
NONE = '<div class="none">none</div>'
_ROWS_MAX = 40
COLOURS = 8
SEEN_S = 1.0
"""Within this time after an incident its absences are seen."""


def name_of(report: Report) -> str:
    """Names a run in few words."""
    options = report.options
    return f"{options.scenario}, seed {options.seed}"


def verdict(report: Report) -> tuple[bool, str]:
    """Tells whether all is well, and says so in words."""
    count = len(report.violations)
    return not count, "nothing is amiss" if not count else f"{count} violation{'s' if count > 1 else ''}"


def finished_s(report: Report) -> float | None:
    """Returns how long the job took; None when it did not end."""
    marks = report.series.marks
    ends = [moment for moment, what in marks if what == FINISHED]
    return ends[-1] - marks[0][0] if ends else None


def refetch_share(report: Report) -> float:
    """Fetches in vain, of those that brought something new."""
    return float(report.figures["refetched"] / max(1, report.figures["answered"]))


def section(report: Report) -> list[str]:
    """Writes the HTML of one run."""
    options = report.options
    good, said = verdict(report)
    pages = number(report.figures["reachable"])
    size = f"{options.masters} masters, {options.replicas} copies of each record, {pages} pages"
    return [
        f"<h1>{escape(options.scenario)} <span class='soft'>seed {options.seed}</span></h1>",
        f'<p><span class="verdict {"good" if good else "bad"}">{said}</span>',
        f'<span class="soft"> · {size} · {lasting(round(report.virtual_s))} of virtual time in {report.real_s:.1f} s'
        f" · trace {report.trace}</span></p>",
        f"<pre>{escape(report.command)}</pre>" if report.command else "",
        _tiles(report),
        *_violations(report),
        *_pictures(report),
        *_incidents(report),
    ]


# -- figures ----------------------------------------------------------------------------------


def _tiles(report: Report) -> str:
    figures = report.figures
    pages = max(1, figures["answered"])
    took = finished_s(report)
    noticed = figures["noticed_s_median"]
    tiles = [
        ("finished in", "never" if took is None else lasting(round(took)), ""),
        ("pages", number(figures["answered"]), f"of {number(figures['reachable'])}"),
        ("items", number(figures["items"]), ""),
        ("refetched", number(figures["refetched"]), f"{refetch_share(report):.1%}"),
        ("absences", number(figures["absences"]), "of masters"),
        ("noticed after", "-" if noticed is None else lasting(noticed), "in the median" if noticed else ""),
        ("buckets moved", number(figures["moved"]), ""),
        ("datagrams", number(round(figures["datagrams"] / pages, 1)), "a page"),
        ("bytes", volume(figures["bytes"] / pages), "a page"),
    ]
    cells = "".join(f"<div><dt>{name}</dt><dd>{value} <small>{more}</small></dd></div>" for name, value, more in tiles)
    return f"<dl>{cells}</dl>"


def _violations(report: Report) -> list[str]:
    if not report.violations:
        return []
    rows = "".join(
        f"<tr><td>{escape(each.checker)}</td><td>{escape(shortened(each.what))}</td></tr>" for each in report.violations
    )
    return [
        '<section class="card"><h3 class="bad">What is amiss</h3><div class="wide"><table>'
        f"<thead><tr><th>checker</th><th>what it found</th></tr></thead><tbody>{rows}</tbody></table></div></section>"
    ]


# -- pictures ---------------------------------------------------------------------------------


def _pictures(report: Report) -> list[str]:
    series, x_max = report.series, max(report.virtual_s, 1.0)
    masters = [f"m{place}" for place in range(report.options.masters)]
    network = [band for incident in report.incidents if (band := _band(incident)) is not None]
    network += [Band(each.began_s, each.ended_s, "other", each.what) for each in series.absences if not each.name]
    away = [
        # Who is gone for good is marked where that began.
        Band(
            each.began_s,
            each.began_s if each.ended_s == inf else each.ended_s,
            kind_of(each),
            f"{each.name} {each.what}",
        )
        for each in series.absences
        if each.name
    ]
    coverage = Line("coverage", [(s.now_s, s.share) for s in series.samples])
    refetched = Line("refetched", [(s.now_s, float(s.refetched)) for s in series.samples], 2)
    moves = [(later.now_s, float(later.moved - one.moved)) for one, later in pairwise(series.samples)]
    kinds = {band.kind: band for band in [*away, *network]}
    names = {"down": "down", "paused": "paused", "cut": "network cut", "other": "bad network, or a slow or full disk"}
    legend = "".join(f'<span><i class="{kind}"></i>{names[kind]}</span>' for kind in names if kind in kinds)
    return [
        _card(
            "Coverage, and who was there",
            "Of the pages that can be reached: those that have answered. The dashed line is where all have that ever "
            "answer; others always fail, or robots.txt forbids them. Below, a row for each master.",
            f'<div class="legend">{legend}</div>' if legend else "",
            lines([coverage], label="coverage over time", form=percent, x_max=x_max, y_max=1.0, filled=True,
                  ceiling=report.figures["answering"] / max(1, report.figures["reachable"]), bands=[*network, *away],
                  width=WIDE, height=250),
            presence(masters, series.absences, network, x_max=x_max),
        ),
        '<div class="grid-of-cards">',
        _card(
            "Requests", "To the web, in each second.",
            lines([Line("requests per second", series.rates("requests"))], label="requests per second", x_max=x_max,
                  bands=network, filled=True),
        ),
        _card(
            "Fetched in vain", "Pages that were fetched again, and requests that were cut off, since the start.",
            lines([refetched], label="refetches over time", x_max=x_max, bands=[*network, *away])
            if report.figures["refetched"] else "",
        ),
        _card(
            "Load", "Pages that each master's group brought home in all. The dashed line is their mean.",
            bars({name: float(series.pages.get(name, 0)) for name in masters}, label="pages per master", note="pages"),
        ),
        _card("Load over time", "The same since the start, a line for each master.", _loads(report, x_max)),
        _card(
            "Ownership moves", "Buckets that began to be served by another master than before.",
            columns(moves, label="buckets moved over time", step_s=series.step_s, x_max=x_max, bands=network)
            if report.figures["moved"] else "",
        ),
        _card(
            "Detection",
            "How long after a master went away the first and the last of the others had given it up; "
            "a hollow mark: it was back before anybody had.",
            ranges(series.detections, label="detection times", x_max=x_max) if series.detections else "",
        ),
        _card(
            "Messages", "Datagrams of all masters, in each second.",
            lines([Line("datagrams per second", series.rates("datagrams"), 3)], label="datagrams per second",
                  x_max=x_max, bands=network, filled=True),
        ),
        _card(
            "Traffic", "Bytes between all peers, datagrams and links together, in each second.",
            lines([Line("bytes per second", series.rates("bytes"), 3)], label="bytes per second", form=volume,
                  x_max=x_max, bands=network, filled=True),
        ),
        "</div>",
    ]  # fmt: skip


def _loads(report: Report, x_max: float) -> str:
    names, samples = list(report.series.pages), report.series.samples
    few = len(names) <= COLOURS
    curves = [
        Line(name, [(each.now_s, float(each.pages[place])) for each in samples], 1 + place if few else 1)
        for place, name in enumerate(names)
    ]
    drawn = lines(curves, label="pages per master over time", x_max=x_max)
    if not few:
        return f'<div class="many">{drawn}</div>'
    legend = "".join(f'<span><i class="stroke c{curve.colour}"></i>{escape(curve.name)}</span>' for curve in curves)
    return f'<div class="legend">{legend}</div>{drawn}'


def _card(title: str, text: str, *content: str) -> str:
    return f'<section class="card"><h3>{title}</h3><p>{text}</p>{"".join(content) or NONE}</section>'


def _band(incident: Incident) -> Band | None:
    if incident.what in NOT_BANDS:
        return None
    kind = "cut" if incident.what == NETWORK else "other"
    return Band(incident.began_s, incident.ended_s, kind, f"{incident.what} of {_those(incident)}")


# -- incidents --------------------------------------------------------------------------------


def _incidents(report: Report) -> list[str]:
    if not report.incidents:
        return []
    rows = [_row(report, incident) for incident in report.incidents]
    head = "<thead><tr><th>at</th><th>what</th><th>whom</th><th>back</th><th>noticed by others after</th>"
    head += "<th>all agreed again after</th></tr></thead>"
    table = f'<div class="wide"><table>{head}<tbody>{"".join(rows[:_ROWS_MAX])}</tbody></table></div>'
    if len(rows) > _ROWS_MAX:
        more = f'<div class="wide"><table>{head}<tbody>{"".join(rows[_ROWS_MAX:])}</tbody></table></div>'
        table += f"<details><summary>{len(rows) - _ROWS_MAX} more</summary>{more}</details>"
    return [_card("Incidents", "What was done to the machines.", table)]


def _row(report: Report, incident: Incident) -> str:
    ends = [_back_s(report, name, incident.began_s) for name in incident.nodes]
    back_s = max(ends, default=inf) if incident.what in NOT_BANDS else incident.ended_s
    seen = [
        each for each in report.series.detections
        if each.name in incident.nodes and 0 <= each.began_s - incident.began_s <= SEEN_S and each.first_s != inf
    ]  # fmt: skip
    last_s = max((each.last_s for each in seen), default=inf)
    if not seen:
        noticed = "nobody gave it up" if incident.what in NOT_BANDS else ""
    else:
        first = lasting(round(min(each.first_s for each in seen), 1))
        noticed = (
            first if last_s in (inf, min(each.first_s for each in seen)) else f"{first} to {lasting(round(last_s, 1))}"
        )
    settled = "not" if incident.settled_s == inf else lasting(round(incident.settled_s - incident.began_s, 1))
    back = "not" if back_s == inf else f"at {lasting(round(back_s, 1))}"
    cells = (f"{incident.began_s:.1f} s", incident.what, _those(incident), back, noticed, settled)
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _back_s(report: Report, name: str, since_s: float) -> float:
    """Returns when a master was there again after something that began then; at once, if that was too short to be
    seen.
    """
    absences = [each for each in report.series.absences if each.name == name and each.what in AWAY]
    ends = [each.ended_s for each in absences if each.began_s <= since_s + SEEN_S and each.ended_s > since_s]
    return ends[0] if ends else since_s


def _those(incident: Incident, most: int = 8) -> str:
    names = sorted(incident.nodes, key=lambda name: (len(name), name))
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
