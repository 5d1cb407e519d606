"""Spans of epochs: how somebody's part of a bucket is told."""

from __future__ import annotations

Span = tuple[int, int]
"""All epochs behind the first of these numbers, up to the second one."""
PIECES_MAX = 16
"""Spans between two epochs that are lacking, of one bucket. Of more the oldest are forgotten, and are lacking then."""
