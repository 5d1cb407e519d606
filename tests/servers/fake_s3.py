"""A fake S3 as a process of its own, ended by its id."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.kit.parent import ends_with_us


@dataclass(frozen=True)
class FakeS3:
    """Where it listens. Its bucket is ``crawls``, and any keys will do."""

    port: int

    def address(self, path: str, **options: str) -> str:
        """The address of a sink in its bucket."""
        query = "".join(f"&{name}={value}" for name, value in options.items())
        return f"s3://key:secret@crawls/{path}?endpoint=http://127.0.0.1:{self.port}&region=us-east-1{query}"


@contextmanager
def fake_s3() -> Iterator[FakeS3]:
    """Starts one, and ends it."""
    program = Path(__file__).with_name("s3_program.py")
    process = subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, preexec_fn=ends_with_us(), text=True)
    try:
        assert process.stdout is not None
        yield FakeS3(int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
