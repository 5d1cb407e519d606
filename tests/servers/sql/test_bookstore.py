"""The bookstore of ``examples/``, crawled into each database as somebody would who tries it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from benchmarks.kit.measure import ROOT, SiteProcess
from benchmarks.sinks.sql_servers import PASSWORD
from tests.servers.conftest import Shop
from tests.sites.bookstore import all_books

from .conftest import Database

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "examples" / "bookstore.py"
RUNS_S = 120


@pytest.fixture
def site() -> Iterator[SiteProcess]:
    with SiteProcess("tests.sites.bookstore") as process:
        yield process


def crawl(site: SiteProcess, address: str, folder: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HOME": str(folder), "P2PCRAWL_SINK_PASSWORD": PASSWORD}
    command = [sys.executable, str(EXAMPLE), site.start, address]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=RUNS_S)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("60 books from 65 pages")


def test_books_are_rows_with_the_types_of_the_item(database: Database, site: SiteProcess, tmp_path: Path) -> None:
    crawl(site, database.url(f"item={EXAMPLE}:Book"), tmp_path)

    rows = database.rows("name, cover, price, author, description, url")
    wanted = [
        (b.name, f"{site.start[:-1]}{b.cover}", b.price, b.author, b.description, f"{site.start}book/{b.number}/")
        for b in all_books()
    ]
    assert sorted((*r[:2], Decimal(str(r[2])).quantize(Decimal("0.01")), *r[3:]) for r in rows) == sorted(wanted)
    if database.family == "mysql":
        types = dict(
            database.ask(
                "SELECT column_name, column_type FROM information_schema.columns "
                "WHERE table_name = 'books' AND table_schema = DATABASE()"
            )
        )
        assert types["name"] == "varchar(300)" and types["price"] == "decimal(10,2)"
        assert types["description"] == "longtext" and types["fetched_at"] == "datetime(6)"


def test_books_are_documents(shop: Shop, site: SiteProcess, tmp_path: Path) -> None:
    crawl(site, shop.url(), tmp_path)

    found = shop.documents()
    assert sorted((each["name"], each["price"], each["author"]) for each in found) == sorted(
        (book.name, str(book.price), book.author) for book in all_books()
    )
    assert all(each["fetched_at"] <= datetime.now(UTC).replace(tzinfo=None) for each in found)
