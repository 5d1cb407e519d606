"""A report for a person to read in a terminal."""

from __future__ import annotations

from ..whole.outcome import Report


def told(report: Report) -> str:
    """Writes the whole report."""
    lines = [f"{report.virtual_s:.1f} virtual seconds in {report.real_s:.1f} real ones; trace {report.trace}"]
    for name, value in report.figures.items():
        if name == "incidents":
            lines += [f"  at {i['began_s']:.1f} s: {i['what']} of {', '.join(i['nodes'])}" for i in value]
        else:
            shown = ", ".join(map(str, value)) if isinstance(value, list) else "-" if value is None else value
            lines.append(f"  {name.replace('_', ' ')}: {shown}")
    lines += [f"VIOLATION {violation.checker}: {shortened(violation.what)}" for violation in report.violations]
    return "\n".join([*lines, verdict(report)])


def verdict(report: Report) -> str:
    """Says in few words what came of a run."""
    count = len(report.violations)
    return f"{count} violation{'s' if count > 1 else ''}" if count else "nothing is amiss"


def shortened(text: str, most: int = 400) -> str:
    """Cuts what is too long to be read; reports as JSON have all of it."""
    return text if len(text) <= most else f"{text[:most]} ... ({len(text) - most} more characters)"
