"""Where raw pages are wanted, as it is typed, and the one line that says why not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.warc.place import WarcPlace, bytes_of, chosen_place


@pytest.mark.parametrize(
    ("typed", "size"),
    [("1GB", 10**9), ("500m", 500 * 10**6), ("64MiB", 64 << 20), ("1.5 kB", 1500), ("7", 7), ("2T", 2 * 10**12)],
)
def test_size_is_read(typed, size):
    assert bytes_of(typed) == size


@pytest.mark.parametrize("typed", ["", "0", "0GB", "-1", "1XB", "GB", "1e9", "nan"])
def test_what_is_no_size_is_refused(typed):
    with pytest.raises(ConfigurationError, match="is no size: give one such as 1GB"):
        bytes_of(typed)


def test_folder_is_taken_with_the_other_outputs(tmp_path):
    place, outputs = chosen_place(tmp_path, "2MB", ["a.jsonl", "-"])

    assert place == WarcPlace(tmp_path, "p2pcrawl", 2_000_000)
    assert outputs == ["a.jsonl", "-"]


def test_output_in_warc_names_the_folder_and_how_files_begin(tmp_path):
    place, outputs = chosen_place(None, "1GB", ["a.jsonl", str(tmp_path / "news.warc.gz")])

    assert place == WarcPlace(tmp_path, "news")
    assert outputs == ["a.jsonl"]


def test_nothing_is_kept_unless_it_is_wanted():
    assert chosen_place(None, "1GB", ["a.jsonl"]) == (None, ["a.jsonl"])


@pytest.mark.parametrize(
    ("folder", "appended", "replaced", "told"),
    [
        ("raw", ["x.warc.gz"], (), "one place"),
        (None, ["x.warc.gz", "y.warc.gz"], (), "one place"),
        (None, ["x.warc"], (), "always packed"),
        (None, ["a b.warc.gz"], (), "cannot be called"),
        (None, [], ["x.warc.gz"], "never replaced"),
    ],
)
def test_what_cannot_be_is_refused(folder, appended, replaced, told):
    with pytest.raises(ConfigurationError, match=told):
        chosen_place(folder, "1GB", appended, replaced)


def test_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "raw").touch()

    for folder in (tmp_path / "raw", tmp_path / "raw" / "deeper"):
        with pytest.raises(ConfigurationError, match="name a folder"):
            WarcPlace(folder).make()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_that_is_closed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir(mode=0o500)

    with pytest.raises(ConfigurationError, match="no permission"):
        WarcPlace(tmp_path / "raw").make()
