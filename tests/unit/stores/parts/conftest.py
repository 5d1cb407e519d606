"""Places for parts that tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.file_servers import FakeS3, fake_s3, ftp_server


@pytest.fixture(scope="session")
def s3() -> Iterator[FakeS3]:
    with fake_s3() as server:
        yield server


@pytest.fixture(scope="session")
def ftp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """The port of an FTP server, and the folder that it serves."""
    folder = tmp_path_factory.mktemp("ftp")
    with ftp_server(folder) as port:
        yield port, folder


@pytest.fixture(autouse=True)
def no_keys_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("AWS_", "AZURE_", "GOOGLE_", "P2PCRAWL_"))]:
        monkeypatch.delenv(name)
