"""The command line. Nothing heavy is imported until a verb needs it, so that ``--help`` answers at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

_INTERRUPTED = (130, 143)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a verb, as the console script, and exits with its code.

    0: done; 1: failed; 2: a mistake in what was typed or written; 130: interrupted; 143: a crawl that SIGTERM has
    stopped in order before its end. Errors are one line on standard error, with a traceback only when ``--debug`` is
    given.
    """
    if arguments is None:
        typed = sys.argv[1:]
        if any("@" in each for each in typed):
            from p2pcrawl.cli.typed_secrets import hide_passwords

            typed = hide_passwords(typed)
    else:
        typed = list(arguments)
    _open_standard_streams()
    code = run(typed)
    if code in _INTERRUPTED:
        _leave_at_once(code)
    sys.exit(code)


def _leave_at_once(code: int) -> NoReturn:
    """Ends the process though threads of a database's driver wait for an answer yet, as they do for 20 s where there is
    none. Nothing is lost by it: what was acknowledged is on disk, and all was told.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _open_standard_streams() -> None:
    """Streams that whoever started this has closed lead nowhere. Left closed, the next database or socket would be what
    error messages are written to."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free is this one. Children inherit the streams.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def run(typed: list[str]) -> int:
    """Runs a verb and returns its exit code."""
    from p2pcrawl.cli.screen.terminal import guarded_streams

    with guarded_streams():
        return _run(typed)


def _run(typed: list[str]) -> int:
    import click

    from p2pcrawl.cli.verbs import p2pcrawl
    from p2pcrawl.model.errors import P2PCrawlError

    try:
        code = p2pcrawl.main(typed, prog_name="p2pcrawl", standalone_mode=False)
        sys.stdout.flush()
        return int(code or 0)
    except click.UsageError as error:
        return _report(_usage(error), 2, typed)
    except click.ClickException as error:
        return _report(error.format_message(), 2, typed)
    except P2PCrawlError as error:
        return _report(str(error), error.exit_code, typed)
    except (KeyboardInterrupt, click.Abort):
        return _report("interrupted", 130, typed)
    except BrokenPipeError:
        # Whoever read our standard output has gone; the interpreter must not try to flush it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError as error:
        return _report(f"there is not enough memory{': ' + str(error) if str(error) else ''}", 1, typed)
    except Exception as error:
        return _report(f"this is a bug: {type(error).__name__}: {error} (--debug shows where)", 1, typed)


def _report(text: str, code: int, typed: list[str]) -> int:
    """Prints an error on one line, whatever the message held; with ``--debug`` also where it came from. Returns the
    exit code.
    """
    if "--debug" in typed and sys.exc_info()[0] is not None:
        import traceback

        traceback.print_exc()
    print("p2pcrawl: " + " ".join(text.split()), file=sys.stderr)
    return code


def _usage(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    message = str(getattr(error, "format_message", lambda: error)()).rstrip(".")
    return f"{message}; see `{context.command_path} --help`" if context is not None else message
