"""The log of a script's process."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

from p2pcrawl.model.json_log_lines import LOG_FORM_VARIABLE, JsonLogLines
from p2pcrawl.model.printable import LogLines

QUIET = ("asyncio", "charset_normalizer", "kademlia", "markdown_it", "rpcudp")
"""Libraries whose lines below a warning help nobody here."""


def own_lines(form: str = "", date_form: str = "") -> logging.Formatter:
    """Returns the form of this process's lines: JSON objects where the environment asks for them, else text, as
    LOG_FORMAT and LOG_DATEFORMAT say. Raises ValueError for a form that fits no record.
    """
    return JsonLogLines() if os.environ.get(LOG_FORM_VARIABLE) == "json" else LogLines(form, date_form)


def name_peer(id: str) -> None:
    """Says whose log it is, in lines that are JSON objects."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, JsonLogLines):
            handler.formatter.peer = id


def configure_logging(settings: Mapping[str, Any] | None = None, install_root_handler: bool = True) -> None:
    """Lets log lines go to standard error, or to the file that LOG_FILE names, from LOG_LEVEL on, in lines as
    LOG_FORMAT and LOG_DATEFORMAT say.

    Nothing is done where LOG_ENABLED is false, or where the script has set up its own log.
    """
    chosen = settings if settings is not None else {}
    root = logging.getLogger()
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    wanted = chosen.get("LOG_ENABLED", True) not in (False, "False", "0", 0)
    if not install_root_handler or root.handlers or not wanted:
        return
    path = chosen.get("LOG_FILE")
    lines = logging.FileHandler(path, encoding="utf-8") if path else logging.StreamHandler()
    lines.setFormatter(LogLines(chosen.get("LOG_FORMAT") or "", chosen.get("LOG_DATEFORMAT") or ""))
    root.addHandler(lines)
    root.setLevel(str(chosen.get("LOG_LEVEL") or "DEBUG").upper())
