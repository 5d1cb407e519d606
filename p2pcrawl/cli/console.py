"""The verb ``console``: one prompt into a running cluster, for the verbs that look at it and steer it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from p2pcrawl.cli import run
from p2pcrawl.client.remote import Remote
from p2pcrawl.model.errors import P2PCrawlError

LOOKS: Final = ("status", "jobs", "why", "owner", "certificate")
STEERS: Final = ("pause", "resume", "cancel", "retry", "inject", "set")
TAKE_A_JOB: Final = ("certificate", *STEERS)
HELP = """\
status             who is in the cluster           jobs           the jobs, and how they stand
why URL            what became of it, and why      owner URL      who has it
pause JOB          resume JOB      cancel JOB      retry JOB      certificate JOB
inject JOB URL     set JOB DOWNLOAD_DELAY=2        (VERB --help tells more)
help               this; an empty line does the last one again; Ctrl-D leaves"""

Do = Callable[[list[str]], int]


class Console:
    """Reads lines, and does each as the verb of that name would, at one peer. ``names``: those of the jobs, now."""

    def __init__(self, place: list[str], do: Do = run, names: Callable[[], list[str]] = list) -> None:
        """``place``: the options that say which peer, and with which token."""
        self._place = place
        self._do = do
        self._names = names
        self._last = "status"
        self.code = 0
        """The exit code of the last verb."""

    def take(self, line: str) -> bool:
        """Does one line. Returns False where it is the end."""
        line = line.strip() or self._last
        try:
            words = shlex.split(line)
        except ValueError as error:
            self._say(f"that cannot be read: {error}")
            return True
        if words[0] in ("exit", "quit"):
            return False
        if words[0] in ("help", "?"):
            print(HELP)
        elif words[0] not in (*LOOKS, *STEERS):
            self._say(f"there is no {words[0]} here; there are {', '.join((*LOOKS, *STEERS))}, help")
        else:
            # Steering twice by a slip of the finger would be one time too many.
            self._last = line if words[0] in LOOKS else self._last
            self.code = self._do([*words, *self._place])
        return True

    def completions(self, line: str) -> list[str]:
        """Returns what a line that is being typed may go on with: a verb, or the name of a job."""
        first, space, rest = line.lstrip().partition(" ")
        if not space:
            return [f"{verb} " for verb in (*LOOKS, *STEERS, "help") if verb.startswith(first)]
        if first not in TAKE_A_JOB or " " in rest:
            return []
        return [f"{name} " for name in self._names() if name.startswith(rest)]

    def _say(self, text: str) -> None:
        print(f"p2pcrawl: {text}", file=sys.stderr)


def run_console(peer: str | None, token_file: Path | None) -> int:
    """Reads lines until their end. Returns the exit code of the last verb, for lines that come from a file."""
    remote = Remote.find(peer, token_file)
    token = ["--token-file", str(token_file)] if token_file is not None else []

    def names() -> list[str]:
        try:
            jobs = remote.get("/v1/jobs")["jobs"]
        except P2PCrawlError:
            return []
        return sorted({str(job.get("label") or job["job"]) for job in jobs})

    console = Console(["--peer", remote.address, *token], names=names)
    interactive = sys.stdin.isatty()
    if interactive:
        _complete_with(console)
        print(f"the cluster of {remote.address}; help tells what there is")
    with suppress(EOFError):
        while console.take(input("p2pcrawl> ") if interactive else _line()):
            pass
    return 0 if interactive else console.code


def _line() -> str:
    """Reads a line that nobody types. Raises EOFError after the last one."""
    for line in sys.stdin:
        if line.strip():
            return line
    raise EOFError


def _complete_with(console: Console) -> None:
    with suppress(ImportError):
        import readline

        def complete(_: str, state: int) -> str | None:
            line = readline.get_line_buffer()[: readline.get_endidx()]
            found = console.completions(line)
            return found[state] if state < len(found) else None

        readline.set_completer_delims(" ")
        readline.set_completer(complete)
        readline.parse_and_bind("tab: complete")
