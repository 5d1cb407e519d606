"""Identity files."""

from __future__ import annotations

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from p2pcrawl.model.errors import ConfigurationError, StorageError
from p2pcrawl.overlay.identity_file import load_or_create


def test_identity_is_made_once_and_read_from_then_on(tmp_path: Path) -> None:
    path = tmp_path / "new" / "identity"

    first = load_or_create(path)

    assert load_or_create(path).node_id == first.node_id
    assert path.read_bytes() == first.seed


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "identity"
    previous = os.umask(0)
    try:
        load_or_create(path)
    finally:
        os.umask(previous)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_nothing_is_left_beside_it(tmp_path: Path) -> None:
    load_or_create(tmp_path / "identity")

    assert [path.name for path in tmp_path.iterdir()] == ["identity"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "identity"
    load_or_create(path)
    path.chmod(mode)

    with pytest.raises(ConfigurationError, match="chmod 600"):
        load_or_create(path)


@pytest.mark.parametrize("size", [0, 31, 33, 4096])
def test_file_that_is_no_identity_is_refused_and_left_alone(tmp_path: Path, size: int) -> None:
    path = tmp_path / "identity"
    path.write_bytes(content := os.urandom(size))
    path.chmod(0o600)

    with pytest.raises(ConfigurationError, match="is no identity file"):
        load_or_create(path)

    assert path.read_bytes() == content


def test_folder_or_pipe_in_its_place_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir(mode=0o700)

    with pytest.raises(ConfigurationError, match="is no identity file"):
        load_or_create(tmp_path / "pipe")
    with pytest.raises((ConfigurationError, StorageError)):
        load_or_create(tmp_path / "folder")


def test_place_that_cannot_be_written_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StorageError, match="cannot use the identity file"):
        load_or_create(tmp_path / "file" / "identity")


def test_processes_that_come_at_once_get_the_same_identity(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(load_or_create, [tmp_path / "identity"] * 8))

    assert len({identity.node_id for identity in made}) == 1


def test_file_system_without_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)

    first = load_or_create(tmp_path / "identity")

    assert load_or_create(tmp_path / "identity").node_id == first.node_id
    assert [path.name for path in tmp_path.iterdir()] == ["identity"]
