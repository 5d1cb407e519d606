"""Rows of jobs as disks have them, read without the code that wrote them."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from ..model.endings import JobRow


def read_job(state: str, reason: str, spec: bytes) -> JobRow:
    """Reads a row of a job: its version, and the certificate of its end, are packed with its specification."""
    packed: dict[str, Any] = msgspec.msgpack.decode(spec)
    certificate = packed.get("certificate") or b""
    end = json.loads(certificate) if certificate else {}
    return JobRow(state, reason, packed.get("control", 0), bool(end.get("final")), tuple(end.get("members", ())))
