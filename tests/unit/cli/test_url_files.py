"""Files of URLs, as editors write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.cli.cluster.control import urls_of_file
from p2pcrawl.model.errors import ConfigurationError


def test_blank_lines_notes_and_what_editors_put_at_the_ends_are_no_part_of_urls(tmp_path: Path) -> None:
    file = tmp_path / "urls.txt"
    file.write_bytes(b"\xef\xbb\xbfhttps://a.example/\r\n\r\n# a note\r\n  https://b.example/1  \r\n")

    assert urls_of_file(file) == ["https://a.example/", "https://b.example/1"]


@pytest.mark.parametrize(
    ("text", "told"), [(b"https://a.example/\nb.example", "line 2"), (b"\xff\xfeh\x00t\x00", "cannot read")]
)
def test_what_is_no_url_is_told_with_its_line(text: bytes, told: str, tmp_path: Path) -> None:
    file = tmp_path / "urls.txt"
    file.write_bytes(text)

    with pytest.raises(ConfigurationError, match=told):
        urls_of_file(file)
