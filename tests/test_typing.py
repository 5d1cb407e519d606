"""The types that people's spiders see."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

WRONG = """
from p2pcrawl import Request, Response, Spider


class Wrong(Spider):
    def parse(self, response: Response) -> Request:
        return response.follow(7)
"""


def said_by_mypy(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_typed_spider_is_accepted_by_a_strict_checker() -> None:
    assert said_by_mypy("examples/typed_quotes.py") == (0, "Success: no issues found in 1 source file\n")


@pytest.mark.slow
def test_wrong_type_in_a_spider_is_refused(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)

    code, said = said_by_mypy(str(tmp_path / "wrong.py"))

    assert (code, said.count("error:"), "follow" in said) == (1, 1, True)
