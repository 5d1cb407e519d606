"""Files that hold a secret: made whole, and refused when somebody else may have had a hand in them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.api.tokens import read_token
from p2pcrawl.private.secrets import make_secret, read_secret, replace_secret

SECRET = b"5ec7e7"


def read(path: Path, *, named: bool = False) -> bytes:
    return read_secret(path, "key file", 100, named=named)


def secret(path: Path, content: bytes = SECRET, mode: int = 0o600) -> Path:
    path.write_bytes(content)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("make", [make_secret, replace_secret])
def test_what_is_written_is_read_and_nobody_else_can(tmp_path: Path, make: Callable[[Path, bytes], object]) -> None:
    before = os.umask(0)
    try:
        make(tmp_path / "key", SECRET)
    finally:
        os.umask(before)

    assert read(tmp_path / "key") == SECRET
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_of_many_that_make_it_at_once_one_does(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: make_secret(tmp_path / "key", b"%d" % number), range(8)))

    assert sum(made) == 1
    assert read(tmp_path / "key") == b"%d" % made.index(True)


@pytest.mark.parametrize("step", ["write", "fsync", "name"])
@pytest.mark.parametrize("make", [make_secret, replace_secret])
def test_disk_that_refuses_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, make: Callable[[Path, bytes], object], step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if make is replace_secret:
        secret(tmp_path / "key", b"before")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if step == "write":
        monkeypatch.setattr("p2pcrawl.private.secrets.open", full_disk, raising=False)
    elif step == "fsync":
        monkeypatch.setattr(os, "fsync", refuse)
    else:
        monkeypatch.setattr(os, "link", refuse)
        monkeypatch.setattr(os, "rename", refuse)
        monkeypatch.setattr(os, "replace", refuse)

    with pytest.raises(OSError, match="No space"):
        make(tmp_path / "key", SECRET)

    monkeypatch.undo()
    left = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert left == ({"key": b"before"} if make is replace_secret else {})


class FullDisk:
    """A file of which nothing can be written."""

    def __init__(self, number: int) -> None:
        self.number = number

    def write(self, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def __enter__(self) -> FullDisk:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.number)


def full_disk(number: int, mode: str) -> FullDisk:
    return FullDisk(number)


def test_new_one_does_not_replace_what_is_there_nor_follow_a_link(tmp_path: Path) -> None:
    target = secret(tmp_path / "target", b"theirs", 0o644)
    (tmp_path / "key").symlink_to(target)

    assert not make_secret(tmp_path / "key", SECRET)
    assert target.read_bytes() == b"theirs"

    replace_secret(tmp_path / "key", SECRET)
    assert target.read_bytes() == b"theirs"
    assert not (tmp_path / "key").is_symlink()


def planted(tmp_path: Path, how: str) -> Path:
    path = tmp_path / "key"
    match how:
        case "a link":
            path.symlink_to(secret(tmp_path / "theirs"))
        case "a link to nothing":
            path.symlink_to(tmp_path / "nothing")
        case "a link to itself":
            path.symlink_to(path)
        case "a pipe":
            os.mkfifo(path, 0o600)
        case "a folder":
            path.mkdir(0o700)
        case "a device":
            path.symlink_to("/dev/zero")
        case "a terminal":
            path.symlink_to("/dev/tty")
        case "too long":
            secret(path, bytes(101))
        case "of a petabyte":
            secret(path)
            os.truncate(path, 1 << 40)
        case _:
            secret(path, mode=int(how, 8))
    return path


HOW = [
    "a link", "a link to nothing", "a link to itself", "a pipe", "a folder", "a device", "a terminal", "too long",
    "of a petabyte", "0604", "0640", "0620", "0602", "0644", "0666", "0777",
]  # fmt: skip


@pytest.mark.parametrize("how", HOW)
def test_planted_file_is_refused_at_once_in_one_line(tmp_path: Path, how: str) -> None:
    path = planted(tmp_path, how)

    with pytest.raises(ConfigurationError) as error:
        read(path)

    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("how", [how for how in HOW if how not in ("a link", "a link to nothing", "a terminal")])
def test_so_is_one_that_the_user_names_but_for_links(tmp_path: Path, how: str) -> None:
    with pytest.raises((ConfigurationError, OSError)):
        read(planted(tmp_path, how), named=True)


def test_link_that_the_user_names_is_followed(tmp_path: Path) -> None:
    assert read(planted(tmp_path, "a link"), named=True) == SECRET


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_file_of_another_user_is_refused_and_roots_file_for_our_group_is_not(tmp_path: Path) -> None:
    path = secret(tmp_path / "key")
    os.chown(path, 12345, -1)

    with pytest.raises(ConfigurationError, match="another user"):
        read(path)
    assert read(path, named=True) == SECRET  # root may say so

    os.chown(path, 0, 12346)
    tmp_path.chmod(0o755)
    for folder in tmp_path.parents[:3]:
        folder.chmod(folder.stat().st_mode | 0o055)
    verdicts = {mode: as_user(12345, 12346, path, mode) for mode in (0o640, 0o644, 0o660)}
    assert verdicts == {0o640: "read", 0o644: "refused", 0o660: "refused"}


def as_user(uid: int, gid: int, path: Path, mode: int) -> str:
    path.chmod(mode)
    child = os.fork()
    if not child:
        os.setgid(gid)
        os.setuid(uid)
        try:
            os._exit(0 if read(path, named=True) == SECRET else 3)
        except ConfigurationError:
            os._exit(1)
        except BaseException:
            os._exit(2)
    return {0: "read", 1: "refused"}.get(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), "failed")


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"ab" * 31, b"ab" * 33, b"AB" * 32, b"xy" * 32, b"\xff" * 64, b" " * 64]
)
def test_token_file_without_a_token_is_refused(tmp_path: Path, content: bytes) -> None:
    """An empty one was left by a full disk; it opened the API to everybody."""
    with pytest.raises(ConfigurationError, match="is no token file"):
        read_token(secret(tmp_path / "token", content))
