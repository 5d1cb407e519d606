"""The prompt of the shell, and the one in the middle of a crawl."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from p2pcrawl.cli.trying.prompts import prompt_with, wanted_shells
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.shell import inspect_response
from tests.unit.spiders.pages import page


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Lines that are typed at Python's prompt; then its end."""
    lines: list[str] = []

    def read(prompt: str = "") -> str:
        if not lines:
            raise EOFError
        return lines.pop(0)

    monkeypatch.setattr("builtins.input", read)
    monkeypatch.setenv("P2PCRAWL_PYTHON_SHELL", "python")
    return lines


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    yield


def test_prompt_knows_its_names_and_shows_our_errors_on_one_line(
    typed: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> None:
        raise ConfigurationError("not like this")

    typed += ["print(n + 1)", "refuse()"]

    prompt_with({"n": 1, "refuse": refuse}, "here we are")

    told = capfd.readouterr()
    assert told.out == "2\n"
    assert "here we are" in told.err
    assert "not like this\n" in told.err and "Traceback" not in told.err


def test_installed_prompt_comes_before_pythons_own(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.setitem(sys.modules, "ptpython", SimpleNamespace())
    embed = lambda **given: begun.append(given["globals"])  # noqa: E731
    monkeypatch.setitem(sys.modules, "ptpython.repl", SimpleNamespace(embed=embed))

    prompt_with({"n": 1}, "here we are")

    assert begun == [{"n": 1}]


def test_prompt_that_is_not_known_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("P2PCRAWL_PYTHON_SHELL", "bpython")

    with pytest.raises(ConfigurationError, match="ipython, ptpython, python or several of these, not 'bpython'"):
        wanted_shells()


@pytest.mark.usefixtures("terminal")
def test_response_is_inspected_at_the_prompt_that_needs_no_loop(
    typed: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("P2PCRAWL_PYTHON_SHELL", "ipython")
    monkeypatch.setitem(sys.modules, "IPython.terminal.embed", SimpleNamespace())
    typed += ["print(response.title, request.url == response.url, spider.settings is settings)"]

    inspect_response(page("<title>t</title>"), SimpleNamespace(settings={}))

    assert capfd.readouterr().out == "t True True\n"


def test_inspecting_without_a_terminal_says_how_to_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False))

    with pytest.raises(ConfigurationError, match="crawl with --slaves 0"):
        inspect_response(page("x"), SimpleNamespace(settings={}))
