"""Pages made to exhaust whoever parses them.

HTML's own rules make a parser take quadratic time for deeply nested elements, for tags with very many attributes (those
of all ``<body>`` tags meet in one), and quadratic memory for styles that are never closed (``<font>``, ``<b id=..>``:
each later paragraph gets all of them again; 24 KB of it become a gigabyte). lexbor and libxml2 follow the rules without
a bound; lexbor also takes quadratic time for names that it has not met before. And each element costs some 300 bytes,
though three are enough to write it. So a page is cut where its estimated work goes over a bound, wherever it is to go
into a parser: what stands before that place is read as usual. ``tests/unit/spiders/test_bombs.py`` holds the attacks.

The estimate looks at every ``<`` that could begin a tag, also in comments, scripts and quoted values, since only a
whole parser knows which of them do: so it errs to the side of too much, and never loses step with the parser. It goes
over pages above :data:`ALWAYS_SIZE`, and over the few below it that could be meant ill.
"""

from __future__ import annotations

import re
from itertools import islice

SMALL_SIZE = 8192
"""A page of this size cannot do much harm."""
ALWAYS_SIZE = 262_144
"""Above it a page is weighed whatever it looks like."""
LONG_TAG_SIZE = 4_000
"""Bytes of a tag without marks that call for a closer look."""
HIDING_SIZE = 65_536
"""The attributes of a page below it take an eighth of a second, if they are all of one tag."""
HIDDEN_TAG_SIZE = 16_384
TAGS_SUSPECT = 2_000
TAGS_DEEP_SUSPECT = 10_000
TAGS_MAX = 200_000
"""Some 80 MB of elements, and a third of a second."""
NESTING_WORK_MAX = 150_000_000
"""Sum of the depths of all tags: half a second."""
STYLE_WORK_MAX = 1_000_000
"""Sum of the unclosed styles at all tags: elements that may be made again, some 360 bytes each."""
MARKS_MAX = 1_000_000
"""Each ``<``: comments are nodes too."""
REFERENCES_MAX = 200_000
"""Each ``&`` of XML: references to entities are nodes, which stay unread."""
DECLARATIONS_SIZE = 1 << 20
"""Bytes of what a document says of its type."""
ATTRIBUTES_MAX = 400_000
"""Of all tags."""
ATTRIBUTE_WORK_MAX = 400_000_000
"""Sum of the squares of the numbers of attributes: less than half a second."""
ATTRIBUTES_OF_ONE_MAX = 20_001
"""Of one tag; so many are over the bound above."""
NAMES_MAX = 50_000
"""Different names of elements and attributes: a third of a second."""
_LOOK_EVERY = 64

_many_marks = re.compile(rb"(?:[^<]*+<){%d}+" % MARKS_MAX).match
_many_references = re.compile(rb"(?:[^&]*+&){%d}+" % REFERENCES_MAX).match
_declaration = re.compile(
    rb"<!(?:ATTLIST|ELEMENT|ENTITY|NOTATION)(?:[^>\"']++|\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))*+"
).finditer
_long_tag = re.compile(rb"<[a-z/][^<>]{%d}" % LONG_TAG_SIZE, re.IGNORECASE).search
_quoted_mark = re.compile(rb"=\s*+(?:\"[^\"<>]*+[<>]|'[^'<>]*+[<>])").search
"""Marks within a value: where the tag ends is not seen at a glance."""

_open_value = re.compile(
    rb"<[a-z/](?:[^<>=]++|=\s*+(?:\"[^\"<>]*+\"|'[^'<>]*+'|(?![\"'])))*+=\s*+[\"']", re.IGNORECASE
).finditer
"""Tags that may go on behind a mark."""

_STYLES = rb"font|b|i|u|s|em|strong|small|code|tt|big|strike|nobr"
_styled = re.compile(rb"<(?:" + _STYLES + rb")[\s/]", re.IGNORECASE).finditer
_style_names = frozenset((*_STYLES.split(b"|"), b"a"))
_plain_tag = re.compile(
    # As far as it goes without a mark or a value that holds one. Possessive throughout: each byte is read once.
    rb"<(/?)([a-z][^\s/<>]*+)((?:[^<>=]++|=(?:\s*+(?:\"[^\"<>]*+\"|'[^'<>]*+'))?+)*+)",
    re.IGNORECASE,
).finditer
_whole_tag = re.compile(rb"<[a-z/](?:[^>=]++|=(?:\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)))?+)*+", re.IGNORECASE).match
_attribute = re.compile(
    rb"([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:\"[^\"]*+\"?|'[^']*+'?|[^\s>]*+))?", re.IGNORECASE
).finditer

_flat_names = frozenset(
    b"area base br col embed hr img input link meta param source track wbr option rb rt rp p li dd dt td th tr"
    b" tbody thead tfoot colgroup html head body script style title textarea".split()
)
"""Elements that have no content, or whose end a parser finds by itself; in drawings and formulas they are as others."""
_walls = frozenset(b"table td th caption template object applet marquee button select svg math".split())
"""An end tag within one of these does not reach what began outside."""
_nesting_names = _walls | {b"tr", b"tbody", b"thead", b"tfoot", b"col", b"colgroup"}
_cells = frozenset((b"td", b"th", b"caption"))
_of_tables = _cells | {b"tr", b"tbody", b"thead", b"tfoot", b"col", b"colgroup"}
_passable = frozenset((b"button", b"select", b"object", b"applet", b"marquee"))
_foreign = frozenset((b"svg", b"math"))
_merged = frozenset((b"html", b"body"))


def bearable(body: bytes, *, xml: bool = False) -> int:
    """Returns how much of the page, in bytes, can be parsed in bounded time and memory."""
    if xml:
        body = _plain_xml(body)
    if len(body) < SMALL_SIZE:
        return len(body)
    if len(body) < ALWAYS_SIZE:
        tags = body.count(b"<")
        deep = tags > TAGS_DEEP_SUSPECT
        styled = tags > TAGS_SUSPECT and sum(1 for _ in _styled(body)) * tags > STYLE_WORK_MAX
        if not deep and not styled and not _has_long_tag(body) and not _hides_long_tag(body):
            return len(body)
    many = _many_marks(body) if body.count(b"<") > MARKS_MAX else None
    return _Weight(body, many.end() if many is not None else len(body)).bearable()


def _has_long_tag(body: bytes) -> bool:
    """Tells whether a tag looks long. Few pages have a gap between the ends of tags in which there is room for one."""
    start = 0
    while start + LONG_TAG_SIZE <= len(body):
        end = body.rfind(b">", start, start + LONG_TAG_SIZE)
        if end < 0:
            return _long_tag(body) is not None
        start = end + 1
    return False


def _hides_long_tag(body: bytes) -> bool:
    """Tells whether a tag may be long that does not look so, for the marks in its values."""
    if len(body) < HIDING_SIZE:
        return False
    read = 0
    for tag in _open_value(body):
        whole = _whole_tag(body, tag.start())
        length = whole.end() - tag.start() if whole is not None else 0
        read += length
        if length > HIDDEN_TAG_SIZE or read > 2 * len(body):
            return True
    return False


def _plain_xml(body: bytes) -> bytes:
    """Cuts a document before it declares or refers too much."""
    if body.count(b"&") > REFERENCES_MAX and (references := _many_references(body)) is not None:
        body = body[: references.end() - 1]
    size = 0
    for declaration in _declaration(body):
        size += declaration.end() - declaration.start()
        if size > DECLARATIONS_SIZE:
            return body[: declaration.start()]
    return body


class _Weight:
    """The work that a page makes, found by following its tags roughly as a parser would."""

    def __init__(self, body: bytes, end: int) -> None:
        self._body = body
        self._end = end
        self._read_max = (1 << 20) + len(body) // 2
        self._names: set[bytes] = set()
        self._attributes = self._attribute_work = self._merged = self._read = 0
        self._nesting_work = self._style_work = 0
        self._styles: dict[bytes, list[int]] = {}
        self._style_count = 0
        # The walls that are open, and what is open within each of them.
        self._rooms: list[tuple[bytes, list[bytes], dict[bytes, int]]] = [(b"", [], {})]
        self._walls: dict[bytes, int] = {}
        self._depth = 0

    def bearable(self) -> int:
        """Returns how many bytes of the page stay within the bounds."""
        names, last = self._names, 0
        for number, tag in enumerate(_plain_tag(self._body, 0, self._end)):
            closing, name, rest = tag.groups()
            if not name.islower():
                name = name.lower()
            names.add(name)
            if rest and not self._attend(tag, name, rest):
                return tag.start()
            self._nesting_work += self._depth
            self._style_work += self._style_count
            if name in _style_names:
                self._style(name, bool(closing), bool(rest))
            elif closing:
                self._close(name)
            elif name in _nesting_names or name not in _flat_names or self._rooms[-1][0] in _foreign:
                self._open(name)
            if not number % _LOOK_EVERY:
                if (
                    number >= TAGS_MAX
                    or self._nesting_work > NESTING_WORK_MAX
                    or self._style_work > STYLE_WORK_MAX
                    or len(names) > NAMES_MAX
                ):
                    return last
                last = tag.start()
        return self._end

    def _attend(self, tag: re.Match[bytes], name: bytes, rest: bytes) -> bool:
        """Counts the attributes of a tag. Returns whether they, and all names so far, are within the bounds."""
        body, end = self._body, tag.end()
        mark = body[end : end + 1]
        if mark == b"<" or _quoted_mark(rest + mark):
            # The tag goes on behind the mark. What is within is looked at again by itself, at a cost that is bounded.
            whole = _whole_tag(body, tag.start())
            if whole is not None:
                self._read += whole.end() - tag.start()
                rest = body[tag.end(2) : whole.end()]
        found = [attribute[1] for attribute in islice(_attribute(rest), ATTRIBUTES_OF_ONE_MAX)]
        self._names.update(found)
        count = len(found)
        self._attributes += count
        if name in _merged:
            self._merged += count
            count = self._merged
        self._attribute_work += count * count
        return (
            self._attributes <= ATTRIBUTES_MAX
            and self._attribute_work <= ATTRIBUTE_WORK_MAX
            and self._read <= self._read_max
        )

    def _style(self, name: bytes, closing: bool, attributes: bool) -> None:
        """Counts elements that are made again after others. Three equal ones are the most that are, and of links
        one.
        """
        known = self._styles.setdefault(name, [])
        if closing:
            if known:
                self._style_count -= known.pop()
            return
        most = 1 if name == b"a" else 3
        counts = int(len(known) < most if not attributes or name == b"a" else True)
        known.append(counts)
        self._style_count += counts

    def _open(self, name: bytes) -> None:
        if name in _of_tables:
            self._end_cell()
        wall, stack, count = self._rooms[-1]
        if name in _walls:
            self._rooms.append((name, [], {}))
            self._walls[name] = self._walls.get(name, 0) + 1
        elif name in _flat_names and wall not in _foreign:
            return
        else:
            stack.append(name)
            count[name] = count.get(name, 0) + 1
        self._depth += 1

    def _end_cell(self) -> None:
        """Closes the cell or row that is open in the same table: the next one ends it."""
        for number in range(1, min(len(self._rooms), 8)):
            wall = self._rooms[-number][0]
            if wall in _cells:
                self._leave(wall)
                return
            if wall not in _passable:
                return

    def _leave(self, name: bytes) -> None:
        while True:
            wall, inside, _ = self._rooms.pop()
            self._walls[wall] -= 1
            self._depth -= 1 + len(inside)
            if wall == name:
                return

    def _close(self, name: bytes) -> None:
        _, stack, count = self._rooms[-1]
        if name in _walls:
            if self._walls.get(name):
                self._leave(name)
        elif count.get(name) and (name != b"form" or stack[-1] == name):
            # The end of a form ends nothing else: what stands open in it stays open.
            while True:
                last = stack.pop()
                count[last] -= 1
                self._depth -= 1
                if last == name:
                    return
