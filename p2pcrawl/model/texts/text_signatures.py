"""Signatures of texts: equal ones for texts that say the same, near ones for texts that say nearly the same.

The near one is Charikar's SimHash: each two words that follow each other vote with the bits of their hash, and a bit
of the signature is what most of them want. Texts of which few words differ get signatures of which few bits differ. Of
two signatures with at most ``near`` bits between them, one of ``near + 1`` bands of bits is the same in both: by its
bands one is found among many.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b
from itertools import pairwise
from typing import Final

from p2pcrawl.model.choosing.duplicate_pages import NEAR_BITS_MAX

BITS: Final = 64
NEAR_MAX: Final = NEAR_BITS_MAX
"""Bits between two signatures that count as near, at most: with more bands, each is too short to tell texts apart."""
SHINGLE: Final = 2
"""Words that vote together."""
SHINGLES_MIN: Final = 20
"""A text with fewer votes is short: a word more or less turns too many bits of its signature."""

_tokens = re.compile(
    # Writing without spaces between words: each character is one.
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    r"|[^\W_]+"
).findall
_BIT_SET: Final = [bytes(byte >> bit & 1 for byte in range(256)) for bit in range(8)]
"""For each bit: the table by which bytes become that bit of theirs."""


def exact_signature(content: str | bytes) -> bytes:
    """Returns 16 bytes that are the same for contents that differ in white space alone."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return blake2b(b" ".join(data.split()), digest_size=16).digest()


def near_signature(text: str) -> bytes | None:
    """Returns 8 bytes of which few bits differ for texts that are nearly the same; None for a short text."""
    words = [word.encode() for word in _tokens(unicodedata.normalize("NFKC", text).casefold())]
    count = len(words) - SHINGLE + 1
    if count < SHINGLES_MIN:
        return None
    shingles = {b" ".join(words[place : place + SHINGLE]) for place in range(count)}
    votes = b"".join([blake2b(shingle, digest_size=8).digest() for shingle in shingles])
    half, signature = len(shingles) / 2, 0
    for place in range(8):
        column = votes[place::8]
        for bit in range(7, -1, -1):
            # All in C: a loop over the bits of each vote takes 40 times as long.
            signature = signature << 1 | (column.translate(_BIT_SET[bit]).count(1) > half)
    return signature.to_bytes(8, "big")


def distance(one: bytes, other: bytes) -> int:
    """Returns how many bits differ between two signatures; all of them, for such of different lengths."""
    if len(one) != len(other):
        return 8 * max(len(one), len(other))
    return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).bit_count()


def band_key(signature: bytes, near: int, band: int) -> bytes:
    """Returns 8 bytes that are the same for signatures that agree in one of ``near + 1`` bands; with ``near`` 0, for
    equal ones.
    """
    edges = [BITS * edge // (near + 1) for edge in range(near + 2)]
    if near:
        first, end = list(pairwise(edges))[band]
        part = int.from_bytes(signature, "big") >> BITS - end & (1 << end - first) - 1
        signature = part.to_bytes(8, "big")
    return blake2b(signature, digest_size=8, person=b"p2p-band-%d-%d" % (near, band)).digest()
