"""Pages made to exhaust whoever parses them.

HTML's own rules make a parser take quadratic time for deeply nested elements and for tags with very many attributes,
and quadratic memory for styles that are never closed (``<font>``, ``<b class=...>``: each later paragraph gets all of
them again; 24 KB of it become a gigabyte). lexbor follows the rules without a bound. So a page is cut where its
estimated work goes over one: what stands before that place is read as usual.

Pages of ordinary size pay for one count of ``<``; the estimate is made for the few that could be meant ill.
"""

from __future__ import annotations

import re

SMALL_SIZE = 8192
"""A page of this size cannot do much harm."""
TAGS_SUSPECT = 2_000
TAGS_DEEP_SUSPECT = 10_000
NESTING_WORK_MAX = 300_000_000
"""Sum of the depths of all tags: about a second."""
STYLE_WORK_MAX = 1_000_000
"""Sum of the unclosed styles at all tags: elements that may be made again, some 360 bytes each."""
LONG_TAG_SIZE = 131_072
ATTRIBUTES_MAX = 5_000

_STYLES = rb"font|b|i|u|s|em|strong|small|code|tt|big|strike|nobr"
_styled = re.compile(rb"<(?:" + _STYLES + rb")\s", re.IGNORECASE)
_tag = re.compile(rb"<(/?)([a-z][a-z0-9-]*)(\s)?", re.IGNORECASE)
_long_tag = re.compile(rb"<[a-z][^<>]{20000,}", re.IGNORECASE)
_style_names = frozenset(_STYLES.split(b"|"))
_flat_names = frozenset(
    b"area base br col embed hr img input link meta param source track wbr a option optgroup rb rt rp p li dd dt td th"
    b" tr tbody thead tfoot colgroup html head body script style title textarea".split()
)
"""Elements that have no content, or whose end a parser finds by itself."""


def defused(body: bytes) -> bytes:
    """The page, or as much of it as can be parsed in bounded time and memory."""
    if len(body) < SMALL_SIZE:
        return body
    if len(body) > LONG_TAG_SIZE:
        for tag in _long_tag.finditer(body):
            if len(tag[0].split(None, ATTRIBUTES_MAX + 1)) > ATTRIBUTES_MAX:
                body = body[: tag.start()]
                break
    tags = body.count(b"<")
    if tags <= TAGS_SUSPECT:
        return body
    styled = sum(1 for _ in _styled.finditer(body))
    if tags <= TAGS_DEEP_SUSPECT and styled * tags <= STYLE_WORK_MAX:
        return body
    return body[: _bearable(body)]


def _bearable(body: bytes) -> int:
    """How much of the page stays within the bounds, by following its tags roughly as a parser would."""
    stack: list[bytes] = []
    open_count: dict[bytes, int] = {}
    style_count: dict[bytes, int] = {}
    styles = nesting_work = style_work = 0
    for tag in _tag.finditer(body):
        closing, name, attributes = tag.groups()
        name = name.lower()
        nesting_work += len(stack)
        style_work += styles
        if nesting_work > NESTING_WORK_MAX or style_work > STYLE_WORK_MAX:
            return tag.start()
        if name in _style_names:
            # Three equal ones are the most that are made again, so those without attributes do no harm.
            if closing:
                if style_count.get(name):
                    style_count[name] -= 1
                    styles -= 1
            elif attributes:
                style_count[name] = style_count.get(name, 0) + 1
                styles += 1
        elif name in _flat_names:
            continue
        elif not closing:
            stack.append(name)
            open_count[name] = open_count.get(name, 0) + 1
        elif open_count.get(name):
            while True:
                last = stack.pop()
                open_count[last] -= 1
                if last == name:
                    break
    return len(body)
