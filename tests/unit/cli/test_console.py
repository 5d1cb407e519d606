"""The prompt into a running cluster."""

from __future__ import annotations

import pytest

from p2pcrawl.cli.console import Console


class Verbs:
    """Takes down what is done, and always fails."""

    def __init__(self) -> None:
        self.done: list[list[str]] = []

    def __call__(self, words: list[str]) -> int:
        self.done.append(words)
        return 1


def console_of(verbs: Verbs) -> Console:
    return Console(["--peer", "here:1", "--token-file", "t"], verbs, lambda: ["news", "night", "shop"])


def test_each_line_is_a_verb_at_one_peer_with_its_token() -> None:
    verbs = Verbs()
    console = console_of(verbs)

    assert console.take("why 'http://a.example/x y'") and console.take("pause news")

    assert verbs.done == [
        ["why", "http://a.example/x y", "--peer", "here:1", "--token-file", "t"],
        ["pause", "news", "--peer", "here:1", "--token-file", "t"],
    ]
    assert console.code == 1


def test_empty_line_looks_again_and_never_steers_again() -> None:
    verbs = Verbs()
    console = console_of(verbs)

    for line in ("jobs", "cancel news", ""):
        console.take(line)

    assert [words[0] for words in verbs.done] == ["jobs", "cancel", "jobs"]


@pytest.mark.parametrize("line", ["crawl x.py", "peer", "delete news", "'half"])
def test_what_is_no_line_of_the_console_does_nothing(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    verbs = Verbs()

    assert console_of(verbs).take(line)

    assert verbs.done == []
    assert capsys.readouterr().err.startswith("p2pcrawl: th")


def test_quit_is_the_end() -> None:
    assert not console_of(Verbs()).take("quit")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("re", ["resume ", "retry "]),
        ("pause n", ["news ", "night "]),
        ("why n", []),
        ("inject news h", []),
    ],
)
def test_verbs_and_names_of_jobs_are_completed(line: str, found: list[str]) -> None:
    assert console_of(Verbs()).completions(line) == found
