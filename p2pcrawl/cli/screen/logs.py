"""The destination of the log, of this process and of its slaves."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from p2pcrawl.cli.screen.terminal import Terminal
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.aids.log_setup import QUIET, own_lines


class _TerminalLog(logging.Handler):
    """Log lines among the lines of the terminal, so that a live display stays whole."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self._terminal = terminal

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._terminal.write(self.format(record))
        except Exception:
            self.handleError(record)


@contextmanager
def log_to(
    terminal: Terminal, level: str, path: str = "", lines: logging.Formatter | None = None
) -> Iterator[int | None]:
    """Logs to the file, or else to the terminal, in ``lines`` of a form. Gives the file's descriptor, for slaves to
    write to as well.
    """
    descriptor, handler = None, _TerminalLog(terminal)
    root = logging.getLogger()
    level_before = root.level
    if path:
        try:
            # Appending, so that the lines of several processes do not overwrite each other.
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise ConfigurationError(f"cannot write the log file {path}: {error.strerror}") from error
    try:
        stream = None if descriptor is None else os.fdopen(os.dup(descriptor), "a", encoding="utf-8")
        chosen: logging.Handler = handler if stream is None else logging.StreamHandler(stream)
        chosen.setFormatter(lines or own_lines())
        root.addHandler(chosen)
        root.setLevel(level.upper())
        for name in QUIET:
            logging.getLogger(name).setLevel(logging.WARNING)
        yield descriptor
    finally:
        root.removeHandler(chosen)
        root.setLevel(level_before)
        if stream is not None:
            stream.close()
        if descriptor is not None:
            os.close(descriptor)
