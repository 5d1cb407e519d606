"""Tracebacks of people's code, as they go into reports: neither endless nor with what is no text."""

from __future__ import annotations

import traceback

DETAIL_MAX = 8_000
"""Characters of an error's explanation."""


def sendable(text: str) -> str:
    """Returns text as it may go into a report: neither endless nor with halves of characters, which pages can
    bring in.
    """
    text = str(text)
    if len(text) > DETAIL_MAX:
        text = f"{text[: DETAIL_MAX // 2]}\n[...]\n{text[-DETAIL_MAX // 2 :]}"
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def trace_of(error: BaseException) -> str:
    """Returns an exception's traceback, as it may go into a report."""
    return sendable("".join(traceback.format_exception(error)))
