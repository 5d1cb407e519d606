"""The figures of a month and of the curve: as they are kept, told and drawn."""

from __future__ import annotations

from typing import Any

from .curve import Least, Point, compared, fixed_cost
from .picture import Figures, picture
from .site import DAY_S, LivingWeb
from .verdict import Verdict


def plain(verdict: Verdict, web: LivingWeb) -> dict[str, Any]:
    """Returns the figures of a month."""
    counts = {
        name: getattr(verdict, name) for name in Verdict.__slots__ if name not in ("delays_s", "lost", "failures")
    }
    return {
        **counts,
        "lost": len(verdict.lost),
        "failures": verdict.failures[:5],
        "share_found": verdict.found / max(1, verdict.articles),
        "share_in_time": verdict.share_in_time,
        "mean_s": verdict.mean_s,
        "late_s": verdict.delay_s(0.95),
        "per_day": verdict.per_day,
        "per_article": verdict.per_article,
        "beside_fixed": verdict.per_day * verdict.mean_s / fixed_cost(web),
        "least": Least.of(web.fronts.values()).share,
        "broken": verdict.broken,
    }


def told(figures: dict[str, Any]) -> str:
    """Writes the figures for people."""
    f = figures
    return "\n".join(
        [
            f"{f['days']:g} days, {f['fronts']} front pages, {f['articles']:,} articles, {f['deaths']} times of deaths",
            f"found: {f['share_found']:.2%}, within one period: {f['share_in_time']:.2%};"
            f" after {f['mean_s']:,.0f} s on average, 95 % within {f['late_s']:,.0f} s",
            f"front pages: {f['front_fetches']:,} fetches, {f['per_article']:.2f} for each article;"
            f" {f['unchanged_304']:,} were not modified (304), {f['unchanged_200']:,} said the same",
            f"beside one period with the same mean delay: {f['beside_fixed']:.3f} times the fetches; the least that any"
            f" rule can reach is {f['least']:.3f}",
            f"articles: {f['article_fetches']:,} fetches; again though unchanged: {f['again'] - f['again_by_death']},"
            f" and {f['again_by_death']} for deaths; amended and read again: {f['amended_found']} of {f['amended']}",
            f"most visits of a host in an hour: {f['busiest']} of {f['budget'] or 'any number'}",
            f"front pages gone: {f['closed']}, told of {f['closed_told']}, asked again {f['closed_again']} times",
            f"lost: {f['lost']}; failures: {len(f['failures'])}; conserved: {'yes' if f['conserved'] else 'no'}",
            *(f"broken: {promise}" for promise in f["broken"]),
        ]
    )


def curve_of(web: LivingWeb) -> dict[str, Any]:
    """Returns what freshness costs by the rules alone."""
    (fixed, adaptive), least = compared(web), Least.of(web.fronts.values())
    return {
        "days": web.plan.days,
        "fronts": len(web.fronts),
        "articles": len(web.articles),
        "fixed": [point._asdict() for point in fixed],
        "adaptive": [point._asdict() for point in adaptive],
        "fixed_cost": fixed_cost(web),
        "least_cost": least.best * DAY_S,
        "least": least.share,
    }


def table(curve: dict[str, Any]) -> str:
    """Writes what freshness costs as Markdown."""
    lines = [
        "| rule | mean delay | 95 % within | fetches a day | for each article | beside one period |",
        "|---" * 6 + "|",
    ]
    for point in (*_points(curve["fixed"]), *_points(curve["adaptive"])):
        beside = point.per_day * point.mean_s / curve["fixed_cost"]
        lines.append(
            f"| {point.name} | {point.mean_s:,.0f} s | {point.late_s:,.0f} s | {point.per_day:,.0f} |"
            f" {point.per_article:.2f} | {beside:.2f} |"
        )
    return "\n".join([*lines, "", f"The least that any rule can reach: {curve['least']:.3f}"])


def drawn(kept: dict[str, Any]) -> str:
    """Draws the cost of freshness from figures that were kept."""
    curve, measured = kept["curve"], list[Point]()
    if month := kept.get("month"):
        name = f"{month['days']:g} days, {month['deaths']} times of deaths"
        measured = [Point(name, *(month[key] for key in ("per_day", "per_article", "mean_s", "late_s")))]
    return picture(Figures(_points(curve["fixed"]), _points(curve["adaptive"]), curve["least_cost"], measured))


def _points(rows: list[dict[str, Any]]) -> list[Point]:
    return [Point(**row) for row in rows]
