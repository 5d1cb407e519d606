"""Lines of the log for machines: each is one JSON object, whatever is in it."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from p2pcrawl.model.redaction import redacted

LOG_FORM_VARIABLE: Final = "P2PCRAWL_LOG_FORMAT"
"""In the environment of a process and its slaves: "json" asks for such lines."""
TEXT_MAX: Final = 20_000
"""Characters of a text; what is longer is cut."""


class JsonLogLines(logging.Formatter):
    """Writes each record as an object: ``time``, ``level``, ``logger``, ``event``, ``job``, ``host``, ``peer`` and
    ``text`` are always there, empty or null where there is none; ``fields`` are those of an event, ``traceback`` comes
    with an error.
    """

    def __init__(self) -> None:
        super().__init__()
        self.peer = ""
        """The peer whose log it is, once it knows who it is."""

    def format(self, record: logging.LogRecord) -> str:
        fields: Mapping[str, Any] = getattr(record, "fields", {})
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "event": getattr(record, "event", ""),
            "job": fields.get("job"),
            "host": fields.get("host", ""),
            "peer": self.peer,
            "text": record.getMessage()[:TEXT_MAX],
        }
        if fields:
            told["fields"] = dict(fields)
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)[:TEXT_MAX]
        # Escapes of JSON keep whatever is in a text from ending the line, or from reaching a terminal.
        return redacted(json.dumps(told, default=str))
