"""What the visits of a page so far have learnt, and the next one is to know."""

from __future__ import annotations

PAST_MAX = 2_048
"""Bytes, packed: it is with every record that is visited again, and with its copies."""
