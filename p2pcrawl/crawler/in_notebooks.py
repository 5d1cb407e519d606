"""A crawl as a notebook shows it: a table of its jobs, and its items as a data frame."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import import_module
from typing import Any

from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.errors import ConfigurationError

_COLUMNS = ("state", "pages", "items", "queued", "failed", "dropped")


def jobs_as_html(names: Sequence[str], jobs: Sequence[Job]) -> str:
    """Returns a table of jobs; of spiders' names alone where nothing has begun."""
    rows = "".join(_row(job.spec.name, job.certificate()) for job in jobs)
    if not jobs:
        return f"<p>a crawl of {escape(', '.join(names))}, not begun: <code>await crawler.crawl()</code></p>"
    head = "".join(f"<th>{column}</th>" for column in ("spider", *_COLUMNS))
    return f"<table><tr>{head}</tr>{rows}</table>"


def _row(name: str, certificate: dict[str, Any]) -> str:
    cells = [name, *(certificate[column] for column in _COLUMNS)]
    return "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"


def frame_of(items: list[dict[str, Any]]) -> Any:
    """Returns items as a pandas DataFrame, a row each; columns are their fields, in the order in which they came."""
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise ConfigurationError("a data frame needs pandas: pip install pandas") from error
    return pandas.DataFrame(items)
