"""Words in which sites allow and forbid uses, in headers, tags and lines: parsers that no text can keep busy.

``Content-Signal`` is read leniently, as its authors write it (``search=yes, ai-train=no``). ``Content-Usage`` is a
dictionary of structured fields (RFC 9651), and what is none says nothing. Its vocabulary has been renamed from draft to
draft; the labels of earlier drafts are read, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from p2pcrawl.model.crawl.purpose import Purpose

VALUE_MAX: Final = 2_000
"""Characters of a value that are read."""
VALUES_MAX: Final = 20
"""Header lines of one name that are read."""

_SIGNAL: Final = re.compile(r"(?<![\w-])(search|ai-input|ai-train)\s{0,9}=\s{0,9}(yes|no|y|n)(?![\w-])", re.IGNORECASE)


def content_signal(text: str) -> dict[Purpose, bool]:
    """Reads a Content-Signal; what is said twice and differently is forbidden."""
    verdicts: dict[Purpose, bool] = {}
    for name, value in _SIGNAL.findall(text[:VALUE_MAX]):
        purpose = Purpose(name.lower())
        verdicts[purpose] = value[0] in "yY" and verdicts.get(purpose, True)
    return verdicts


_BARE: Final = (
    r"(?:\"(?:[ !#-\[\]-~]|\\[\"\\])*\"|[A-Za-z*][!#$%&'*+.^_`|~:/\w-]*|-?[0-9]{1,15}(?:\.[0-9]{1,3})?"
    r"|\?[01]|:[A-Za-z0-9+/=]*:|@-?[0-9]{1,15}|%\"[ !#-~]*\")"
)
_PARAMETERS: Final = rf"(?:;[ ]*[a-z*][a-z0-9_.*-]*(?:={_BARE})?)*"
_MEMBER: Final = re.compile(
    rf"([a-z*][a-z0-9_.*-]*)(?:=({_BARE}|\([^()]*\)))?{_PARAMETERS}[ \t]*(,[ \t]*|\Z)", re.ASCII
)

_LABELS: Final = {
    "search": (Purpose.SEARCH,),
    "train-ai": (Purpose.AI_TRAIN,),
    # Of earlier drafts.
    "train-genai": (Purpose.AI_TRAIN,),
    "genai": (Purpose.AI_TRAIN,),
    "ai": (Purpose.AI_TRAIN,),
    "ai-use": (Purpose.AI_INPUT,),
}
_BROAD: Final = ("bots", "tdm")
"""Labels of earlier drafts that speak of all uses, unless a narrower one does."""


def content_usage(text: str) -> dict[Purpose, bool]:
    """Reads a Content-Usage: ``y`` allows, ``n`` forbids, anything else says nothing."""
    members = _dictionary(text[:VALUE_MAX].strip(" \t"))
    verdicts: dict[Purpose, bool] = {}
    for label, purposes in _LABELS.items():
        if (allowed := _YES_NO.get(members.get(label, ""))) is not None:
            for purpose in purposes:
                verdicts[purpose] = allowed and verdicts.get(purpose, True)
    for label in _BROAD:
        if (allowed := _YES_NO.get(members.get(label, ""))) is not None:
            for purpose in Purpose:
                verdicts.setdefault(purpose, allowed)
    return verdicts


_YES_NO: Final = {"y": True, "n": False}


def _dictionary(text: str) -> dict[str, str]:
    """Reads a dictionary of structured fields, with values as they are written; nothing for what is none."""
    members: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _MEMBER.match(text, at)
        if match is None or (match[3] and match.end() == len(text)):
            return {}
        members[match[1]] = match[2] or "?1"
        at = match.end()
    return members


_FORBIDS: Final = {
    "noindex": (Purpose.SEARCH,),
    "none": (Purpose.SEARCH,),
    "noai": (Purpose.AI_INPUT, Purpose.AI_TRAIN),
    "nosnippet": (Purpose.AI_INPUT,),
    "max-snippet:0": (Purpose.AI_INPUT,),
}
_OF_IMAGES: Final = {"noimageai": (Purpose.AI_INPUT, Purpose.AI_TRAIN), "noimageindex": (Purpose.SEARCH,)}
_WITH_VALUE: Final = ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")


def robots_tag(values: Iterable[str], agent: str, *, image: bool = False) -> dict[Purpose, bool]:
    """Reads X-Robots-Tag values, or the content of ``<meta name=robots>``, for one agent; ``image``: what is spoken of
    is one.
    """
    verdicts: dict[Purpose, bool] = {}
    for number, value in enumerate(values):
        if number >= VALUES_MAX:
            break
        for word in _words_for(value[:VALUE_MAX].lower(), agent.lower()):
            for purpose in _FORBIDS.get(word, ()) or (_OF_IMAGES.get(word, ()) if image else ()):
                verdicts[purpose] = False
    return verdicts


def _words_for(value: str, agent: str) -> Iterator[str]:
    """Yields the words of a value that speak to an agent: those after no name, or after its own."""
    ours = True
    for part in value.split(","):
        word = part.strip()
        name, colon, rest = word.partition(":")
        if colon and name.strip() not in _WITH_VALUE:
            ours = name.strip() in ("*", "robots", agent)
            word = rest.strip()
        if ours:
            yield word.replace(" ", "")
