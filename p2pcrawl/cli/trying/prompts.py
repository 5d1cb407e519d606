"""An interactive prompt with completion: IPython's or ptpython's where one of them is installed, else Python's own."""

from __future__ import annotations

import code
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from typing import Any, TextIO, cast

from p2pcrawl.cli.screen.terminal import Guarded
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.spiders.page.response import Response

VARIABLE = "P2PCRAWL_PYTHON_SHELL"
"""Which prompt is wanted: ipython, ptpython or python; several with commas, in order of preference."""
SHELLS = ("ipython", "ptpython", "python")


def prompt_with(names: dict[str, Any], banner: str) -> None:
    """Shows a prompt that knows ``names`` until its end. Raises ConfigurationError for a prompt that is not known."""
    for shell in wanted_shells():
        try:
            _STARTS[shell](names, banner)
        except ImportError:
            continue
        return


def wanted_shells() -> list[str]:
    """Returns the prompts to look for, the one that is always there last. Raises ConfigurationError for others."""
    typed = os.environ.get(VARIABLE) or os.environ.get("SCRAPY_PYTHON_SHELL") or ",".join(SHELLS)
    wanted = [name.strip().lower() for name in typed.split(",") if name.strip()]
    if strange := [name for name in wanted if name not in SHELLS]:
        raise ConfigurationError(f"{VARIABLE} is {', '.join(SHELLS)} or several of these, not {strange[0]!r}")
    return [*wanted, "python"]


def inspect_response(response: Response, spider: Any) -> None:
    """Shows Python's own prompt in a callback, with ``response``, ``request``, ``spider`` and ``settings``; all
    else of the crawl waits until its end. Raises ConfigurationError in a slave process, which has no terminal.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        raise ConfigurationError("inspect_response needs a terminal: crawl with --slaves 0 in one")
    names = {"response": response, "request": response.request, "spider": spider, "settings": spider.settings}
    # Other prompts need a loop of their own, and the crawl's is running.
    with _bare_streams(guarded=True):
        _python(names, "response, request, spider and settings are here; Ctrl-D goes on with the crawl")


@contextmanager
def _bare_streams(*, guarded: bool = False) -> Iterator[None]:
    """Brings the terminal back to where a live display, or what guards it, stands in its place. Prompts that draw
    themselves need it bare.
    """
    out, err = sys.__stdout__ or sys.stdout, sys.__stderr__ or sys.stderr
    if guarded:
        out, err = cast(TextIO, Guarded(out)), cast(TextIO, Guarded(err, redacts=True))
    with redirect_stdout(out), redirect_stderr(err):
        yield


def _ipython(names: dict[str, Any], banner: str) -> None:
    embed = import_module("IPython.terminal.embed").InteractiveShellEmbed
    config = import_module("IPython.terminal.ipapp").load_default_config()
    embed.clear_instance()
    shell = embed.instance(banner1=f"{banner}\n", user_ns=names, config=config, confirm_exit=False)
    with _bare_streams():
        shell()


def _ptpython(names: dict[str, Any], banner: str) -> None:
    embed = import_module("ptpython.repl").embed
    print(banner)
    with _bare_streams():
        embed(globals=names)


def _python(names: dict[str, Any], banner: str) -> None:
    with suppress(ImportError):
        import readline
        import rlcompleter

        readline.set_completer(rlcompleter.Completer(names).complete)
        readline.parse_and_bind("tab: complete")
    _PythonPrompt(names).interact(banner, exitmsg="")


_STARTS = {"ipython": _ipython, "ptpython": _ptpython, "python": _python}


class _PythonPrompt(code.InteractiveConsole):
    def showtraceback(self) -> None:
        """Shows our own errors as one line, as everywhere; others with their traceback."""
        error = sys.exc_info()[1]
        if isinstance(error, P2PCrawlError):
            self.write(f"{error}\n")
        else:
            super().showtraceback()
