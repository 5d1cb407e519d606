"""A fake S3 and FTP servers as processes of their own, ended by their ids."""

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
    with _serving("s3_program.py") as port:
        yield FakeS3(port)


@contextmanager
def ftp_server(folder: Path, *, renames_over: bool = True, port: int = 0) -> Iterator[int]:
    """Serves a folder; the port."""
    with _serving("ftp_program.py", str(folder), "over" if renames_over else "never-over", str(port)) as taken:
        yield taken


@contextmanager
def sftp_server(folder: Path, known_hosts: Path) -> Iterator[int]:
    """Serves a folder, and writes the key of the server where it is to be known; the port."""
    with _serving("sftp_program.py", str(folder), str(known_hosts)) as port:
        yield port


@contextmanager
def _serving(program: str, *arguments: str) -> Iterator[int]:
    command = [sys.executable, str(Path(__file__).with_name(program)), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=ends_with_us(), text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
