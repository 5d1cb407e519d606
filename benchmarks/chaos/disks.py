"""Disks of a machine that can be filled, fail, and lose power as real ones do. All but plain folders need root.

An *ext4* disk is a file system in a file. ``power_off`` shuts it down (EXT4_IOC_SHUTDOWN without a flush of its
journal): from that instant all reading and writing of files fails, and what was not synced is gone when it is mounted
again, as after a real loss of power. So it shows what the crawler's own syncs are worth, on a real file system.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

SHUTDOWN = 0x8004587D
NO_FLUSH = struct.pack("I", 2)
SIZE_MIB = {"tmpfs": 64, "ext4": 96}
CLONE_NEWNS = 0x00020000
BALLAST = "ballast"
KEPT_NAME = "identity"


class Disk:
    """A plain folder: it can be lost, and nothing else. ``data`` is where a peer keeps what it has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.off = False
        """It has lost its power, and has not been repaired."""
        folder.mkdir(parents=True)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def lose(self, *, keeps_identity: bool) -> None:
        """Loses all that a peer kept, its name perhaps excepted."""
        if not self.data.is_dir():
            return
        for path in self.data.iterdir():
            if not (keeps_identity and path.name == KEPT_NAME):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def fill(self) -> None:
        """Leaves no room."""
        with contextlib.suppress(OSError), open(self.folder / BALLAST, "ab", buffering=0) as ballast:
            for size in (1 << 20, 1 << 12):
                with contextlib.suppress(OSError):
                    while ballast.write(bytes(size)):
                        pass

    def free(self) -> None:
        with contextlib.suppress(OSError):
            (self.folder / BALLAST).unlink(missing_ok=True)

    def power_off(self) -> None:
        """Takes the disk away at once, with all that was not synced."""

    def repair(self) -> None:
        """Brings back what ``power_off`` took away."""

    def close(self) -> None:
        """Gives back what belongs to the system."""


class MemoryDisk(Disk):
    """A small file system in memory, which can be filled."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        _run("mount", "-t", "tmpfs", "-o", f"size={SIZE_MIB['tmpfs']}m", "tmpfs", str(folder))

    def close(self) -> None:
        _run("umount", "-l", str(self.folder), check=False)


class ImageDisk(Disk):
    """A file system in a file, which can be filled, fail, and lose power."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._image = folder.with_suffix(".img")
        with open(self._image, "wb") as image:
            image.truncate(SIZE_MIB["ext4"] << 20)
        _run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", str(self._image))
        self._mount()

    def power_off(self) -> None:
        self.off = True
        root = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(root, SHUTDOWN, NO_FLUSH)
        finally:
            os.close(root)

    def repair(self) -> None:
        """Mounts it anew; whoever had files open there must have gone."""
        _run("umount", str(self.folder))
        self._mount()
        self.off = False

    def close(self) -> None:
        _run("umount", "-l", str(self.folder), check=False)
        self._image.unlink(missing_ok=True)

    def _mount(self) -> None:
        _run("mount", "-o", "loop", str(self._image), str(self.folder))


KINDS = {"folder": Disk, "tmpfs": MemoryDisk, "ext4": ImageDisk}


def why_no_disk(kind: str) -> str:
    """Tries such a disk, and returns why there can be none; "" when there can."""
    if kind != "folder" and os.geteuid():
        return "needs root"
    with tempfile.TemporaryDirectory(prefix="p2pcrawl-chaos-") as folder:
        try:
            disk = KINDS[kind](Path(folder) / "disk")
        except (OSError, subprocess.CalledProcessError) as error:
            return _said(error)
        try:
            if kind == "ext4":
                disk.power_off()
                disk.repair()
        except (OSError, subprocess.CalledProcessError) as error:
            return _said(error)
        finally:
            disk.close()
    return ""


def keep_mounts_to_ourselves() -> None:
    """Gives this process and its children mounts of their own, where that is allowed: they end with them however they
    end.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if not os.geteuid() and hasattr(libc, "unshare") and not libc.unshare(CLONE_NEWNS):
        _run("mount", "--make-rprivate", "/", check=False)


def _run(*command: str, check: bool = True) -> None:
    subprocess.run(command, check=check, capture_output=True, text=True)


def _said(error: Exception) -> str:
    said = getattr(error, "stderr", "") or str(error)
    return " ".join(str(said).split())[:200]
