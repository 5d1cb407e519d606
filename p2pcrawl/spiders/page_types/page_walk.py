"""The walk over a page that finds its shape: its blocks of text, its links and its parts.

A block is a piece of text without other blocks in it. It is prose where it is long and hardly linked, and a title where
it is a link with as much text as titles have. What stands in menus, headers and footers is neither.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from p2pcrawl.spiders.page_types.page_shape import PageShape
from p2pcrawl.spiders.page_types.part_names import NAME_MAX, part_names
from p2pcrawl.spiders.page_types.text_size import letters_in
from p2pcrawl.spiders.page_types.word_sets import word_set

NODES_MAX: Final = 60_000
"""Nodes of a page that are looked at: what comes after them says the same."""
PROSE_MIN: Final = 80
TITLE_MIN: Final = 18
MENUS_MAX: Final = 2_000
"""The text of menus that are menus."""
TEASER_MAX: Final = 400
"""The size of what is said of one page on another."""

_SKIPPED: Final = word_set(
    "script style template svg select option iframe head object canvas math datalist audio video"
)
"""What is in ``noscript`` counts: a crawl runs no scripts."""
_INLINE: Final = word_set(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q rp rt ruby s samp small"
    " span strike strong sub sup time tt u var wbr br picture source"
)
_HEADINGS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_NAMED_TAGS: Final = frozenset(("div", "ul", "ol", "section", "header", "aside"))
_COUNTED: Final = frozenset(("pre", "blockquote", "figcaption", "dt"))
_CHROME_TAGS: Final = frozenset(("nav", "footer"))
_chrome_name = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|megamenu|submenu|footer|breadcrumbs?|topbar|site-header|masthead|"
    r"skip-link|offcanvas|drawer|cookie\w*|consent\w*|gdpr\w*|onetrust|ot|cmp\w*|ccpa|modal|popup|dialog|lightbox)"
    r"(?:$|[\s_-])",
    re.IGNORECASE,
).search
_price = re.compile(r"[$€£¥₹₽₩₺]\s?\d|\d[\d.,]*\s?(?:[€£₽₩₺₹]|zł\b|kr\b|Kč|USD\b|EUR\b|CHF\b|元|円|원|руб)").search  # noqa: RUF001
_begins_counted = re.compile(r"#?\d{1,3}[.):]").match
_ends_open = re.compile(r"(?:\.\.\.|…|\[…\]|\[\.\.\.\])\W{0,3}$").search


@dataclass(slots=True)
class _Open:
    """An element that the walk is in."""

    tag: str
    is_block: bool
    chrome: bool
    text: int = 0
    direct: int = 0
    """The prose of the blocks right in it."""
    links: int = 0
    kinds: dict[str, int] | None = None


@dataclass(slots=True)
class _Block:
    parts: list[str] = field(default_factory=list)
    text: int = 0
    linked: int = 0
    heading: str = ""
    owner: _Open | None = None
    href: str = ""


class _Walk:
    def __init__(self, *, by_name: bool) -> None:
        """``by_name``: what is named as menus are is one, too."""
        self.shape = PageShape()
        self._by_name = by_name
        self._open: list[_Open] = []
        self._block = _Block()
        self._href = ""
        self._link_text: list[str] = []
        self._link_chrome = False
        self._heading = ""
        self._run = self._before = 0
        self._said: dict[str, set[str]] = {}
        self._headed = self._leads_on = False
        self._classes: dict[str, int] = {}
        self._menu_names: dict[str, bool] = {}
        self._ids: list[str] = []

    def over(self, body: LexborNode) -> PageShape:
        """Walks over all that is in an element."""
        shape, left = self.shape, NODES_MAX
        self._enter("body", body)
        node = body.child
        depth = 0
        while node is not None and left:
            left -= 1
            tag = node.tag or ""
            below = None
            if tag == "-text":
                self._said_text(node.text_content or "")
            elif tag and tag[0] != "-" and tag not in _SKIPPED:
                self._enter(tag, node)
                below = node.child
                if below is None:
                    self._leave()
            if below is not None:
                node, depth = below, depth + 1
                continue
            while node.next is None and depth:
                node = node.parent
                if node is None:
                    break
                depth -= 1
                self._leave()
            node = node.next if node is not None else None
        while self._open:
            self._leave()
        self._end_block()
        self._end_run()
        shape.names = part_names(self._classes, self._ids)
        shape.repeated = max((len(targets) for targets in self._said.values()), default=0)
        return shape

    def _enter(self, tag: str, node: LexborNode) -> None:
        chrome = bool(self._open) and self._open[-1].chrome
        if tag in _INLINE:
            self._open.append(_Open(tag, False, chrome))
            self._count_inline(tag, node, chrome)
            return
        self._end_block()
        if not chrome:
            chrome = self._count_part(tag, node)
        self._open.append(_Open(tag, True, chrome))
        if tag in _HEADINGS:
            self._heading = tag
        elif tag == "article":
            self.shape.articles += 1
        elif tag == "input":
            self.shape.passwords += node.attributes.get("type") == "password"

    def _count_part(self, tag: str, node: LexborNode) -> bool:
        """Counts an element that stands in no menu; tells whether it is one itself."""
        said = node.attributes
        name, identity = said.get("class") or "", said.get("id") or ""
        if self._open:
            around, kind = self._open[-1], f"{tag}.{name}"
            if around.kinds is None:
                around.kinds = {}
            around.kinds[kind] = around.kinds.get(kind, 0) + 1
            if tag in _CHROME_TAGS or said.get("role") == "navigation" or self._is_named_chrome(tag, name, identity):
                return True
        if tag in _COUNTED:
            self.shape.tags[tag] += 1
        if name:
            self._classes[name] = self._classes.get(name, 0) + 1
        if identity:
            self._ids.append(identity)
        return False

    def _count_inline(self, tag: str, node: LexborNode, chrome: bool) -> None:
        shape = self.shape
        if tag == "img":
            shape.pictures += 1
        elif tag == "time":
            shape.times += 1
        elif tag == "a":
            href = node.attributes.get("href") or ""
            if href[:1] == "#":
                shape.anchors += not chrome and len(href) > 1
            elif href and not href.startswith("javascript:"):
                if not chrome:
                    shape.links += 1
                    shape.page_links += "page=" in href or "/page/" in href
                self._href, self._link_text, self._link_chrome = href, [], chrome
                if self._heading and not chrome:
                    self._block.href = href

    def _is_named_chrome(self, tag: str, name: str, identity: str) -> bool:
        """Tells whether an element has the name of a menu. What is right in the body may be the whole page."""
        if not self._by_name or len(self._open) < 2 or tag not in _NAMED_TAGS:
            return False
        named = self._menu_names.get(name)
        if named is None:
            named = self._menu_names[name] = _chrome_name(name[:NAME_MAX]) is not None
        return named or (bool(identity) and _chrome_name(identity) is not None)

    def _leave(self) -> None:
        left = self._open.pop()
        shape = self.shape
        if left.is_block:
            self._end_block()
            if left.tag in _HEADINGS:
                self._heading = ""
        if left.tag == "a" and self._href:
            self._end_link()
        if self._open:
            around = self._open[-1]
            around.text += left.text
            around.links += left.links + (left.tag == "a")
            if left.direct and not left.chrome:
                shape.gathered = max(shape.gathered, left.direct)
        if left.kinds is not None and not left.chrome and left.links >= 3:
            kind = max(left.kinds, key=left.kinds.__getitem__)
            count = min(left.kinds[kind], left.links)
            if count > shape.cards and not kind.startswith(("p.", "br.", "hr.", "td.")):
                shape.cards, shape.card_text = count, left.text / count

    def _said_text(self, text: str) -> None:
        if not text or text.isspace():
            return
        size = letters_in(text)
        place = self._open[-1]
        place.text += size
        shape = self.shape
        shape.text += size
        if place.chrome:
            shape.chrome += size
        block = self._block
        block.parts.append(text)
        block.text += size
        if block.owner is None:
            block.owner, block.heading = place, self._heading
        if self._href:
            block.linked += size
            self._link_text.append(text)
            block.href = self._href

    def _end_link(self) -> None:
        href, self._href = self._href, ""
        text = " ".join("".join(self._link_text).split())
        if not text or self._link_chrome:
            return
        size = letters_in(text)
        if text.isdigit():
            self.shape.numbered += 1
        if TITLE_MIN <= size <= TEASER_MAX * 2:
            self.shape.titles.add(href)
        if size < 2 * TITLE_MIN and len(self._said) < 2_000:
            targets = self._said.setdefault(text, set())
            targets.add(href)
            if self._headed and len(targets) > 1:
                # "Read more", below a heading that is no link itself.
                self.shape.titles.add(href)
                self._headed, self._leads_on = False, True

    def _end_block(self) -> None:
        if self._block.owner is not None or self._block.href:
            self._count_block()
        if self._leads_on:
            self._leads_on = False
            self._end_run()

    def _count_block(self) -> None:
        block, self._block = self._block, _Block()
        size, shape = block.text, self.shape
        if not size or block.owner is None or block.owner.chrome:
            return
        heading = block.heading
        if heading:
            if block.linked * 2 > size or block.href:
                self._end_run()
            else:
                self._headed = True
                self._count_heading(heading, " ".join("".join(block.parts).split()))
            return
        if size < 60 and _price("".join(block.parts)):
            shape.prices += 1
        if size >= PROSE_MIN and block.linked * 3 < size:
            if block.parts[0].lstrip()[:2] in ("{", '{"', "[{", '["', "<"):
                return  # Data for a script, which nobody sees.
            shape.prose.append(size)
            if not self._run:
                self._before = len(shape.titles)
            self._run += size
            around = self._around()
            if around is not None:
                around.direct += size
            if _ends_open("".join(block.parts[-2:])):
                shape.open_ends += 1
        elif block.linked * 3 > size * 2 and size >= TITLE_MIN:
            self._end_run()

    def _count_heading(self, heading: str, text: str) -> None:
        shape = self.shape
        if heading == "h1":
            shape.headline = shape.headline or text
        else:
            shape.counted_headings += _begins_counted(text) is not None

    def _around(self) -> _Open | None:
        """Returns the element around the innermost block that is open."""
        for each in reversed(self._open):
            if each.is_block:
                return each
        return None

    def _end_run(self) -> None:
        if self._run > self.shape.run:
            self.shape.run, self.shape.before = self._run, self._before
        self._run = 0


def shape_of(tree: LexborHTMLParser) -> PageShape:
    """Counts what is on a page."""
    body = tree.body
    if body is None:
        return PageShape()
    shape = _Walk(by_name=True).over(body)
    if shape.prose_size < PROSE_MIN and shape.chrome * 2 > shape.text > MENUS_MAX:
        # The whole page is in something that has a menu's name.
        shape = _Walk(by_name=False).over(body)
    return shape
