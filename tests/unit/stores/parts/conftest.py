"""Places for parts that tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.servers.fake_s3 import FakeS3, fake_s3


@pytest.fixture(scope="session")
def s3() -> Iterator[FakeS3]:
    with fake_s3() as server:
        yield server


@pytest.fixture(autouse=True)
def no_keys_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("AWS_", "AZURE_", "GOOGLE_", "P2PCRAWL_"))]:
        monkeypatch.delenv(name)
