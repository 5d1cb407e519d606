"""The same seed tells the same story, in any process; real libraries take part."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

STORY = Path(__file__).with_name("story.py")


def begin(seed: int, hash_seed: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(STORY.parents[2])}
    command = [sys.executable, str(STORY), str(seed)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def end(process: subprocess.Popen[str]) -> dict[str, Any]:
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    story: dict[str, Any] = json.loads(told)
    return story


def test_same_seed_has_the_same_trace_in_other_processes_under_other_hash_seeds() -> None:
    stories = [end(process) for process in [begin(11, hash_seed) for hash_seed in (0, 4242)]]

    assert stories[0] == stories[1]
    assert stories[0]["right"] >= 9
    assert stories[0]["pages"] == 30


def test_another_seed_has_another_trace() -> None:
    one, other = [end(process) for process in (begin(11, 1), begin(12, 1))]

    assert one["trace"] != other["trace"]
