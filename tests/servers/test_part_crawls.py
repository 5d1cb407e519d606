"""Crawls of masters into a fake S3, some of which are killed. At full size: ``python -m benchmarks.sinks parts``."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import obstore
import pytest
from obstore.store import S3Store

from benchmarks.masters.trial import Plan
from benchmarks.sinks.part_kills import kill_writers
from tests.servers.file_servers import fake_s3

pytestmark = pytest.mark.slow


def test_each_page_has_one_item_though_one_master_is_killed_and_one_for_ever(tmp_path: Path) -> None:
    plan = Plan(pages=600, hosts=40, delay_s=0.5, masters=4, copies=2, seed=1)
    with fake_s3() as s3:
        store = S3Store(
            "crawls",
            prefix="shop/items.jsonl.gz",
            endpoint=f"http://127.0.0.1:{s3.port}",
            region="us-east-1",
            access_key_id="key",
            secret_access_key="secret",
            client_options={"allow_http": True},
        )

        def files() -> dict[str, bytes]:
            found = {}
            for name in [each["path"] for page in obstore.list(store) for each in page]:
                with suppress(FileNotFoundError):  # A stray that is removed just now.
                    found[name] = bytes(obstore.get(store, name).bytes())
            return found

        claims = kill_writers(tmp_path, plan, s3.address("shop/items.jsonl.gz", linger="0.5"), files)

    assert claims.broken == []
