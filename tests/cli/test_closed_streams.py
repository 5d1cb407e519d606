"""Standard streams that are closed cost nothing: whoever starts a crawl may have none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ends_with_us, environment, lines_in


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_crawl_without_standard_streams_is_whole(tmp_path: Path, whole: list[str], closed: str) -> None:
    output = tmp_path / "out.jsonl"
    crawl = [sys.executable, "-m", "p2pcrawl", *whole, "--slaves", "1", "-o", str(output), "--data", "run1"]

    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *crawl],
        cwd=tmp_path,
        env=environment(tmp_path),
        preexec_fn=ends_with_us(),
        timeout=60,
        check=False,
        capture_output=True,
    )

    assert done.returncode == 0, done.stderr
    assert lines_in(output) > 0
    assert b"SQLite format 3" in (tmp_path / "run1" / "frontier.db").read_bytes()[:16]
