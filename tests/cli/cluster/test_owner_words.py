"""``owner`` in words."""

from __future__ import annotations

from p2pcrawl.cli.cluster.views import owner_words


def test_silent_owner_comes_with_what_the_directory_heard() -> None:
    silent = {
        "url": "http://a.example/", "owner": "a" * 40, "address": "10.0.0.5:7117", "copies": ["a" * 40], "why": "ring",
        "note": "the owner did not answer",
        "directory": {"owner": "b" * 40, "epoch": [3, "b" * 40], "address": "10.0.0.6:7117", "age_s": 61.4},
    }  # fmt: skip

    words = "\n".join(owner_words(silent))

    assert "heard   bbbbbbbb at 10.0.0.6:7117, epoch 3, 61 s ago (directory)" in words
    assert "heard" not in "\n".join(owner_words({**silent, "directory": None}))
