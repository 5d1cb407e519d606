"""The nodes of one name in an XML file, one by one: a tree is built of each, and of nothing around them, so that memory
is bounded by the largest node however long the file is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import parsel
from lxml import etree

from p2pcrawl.spiders.formats.sitemap_entries import plain_chunks
from p2pcrawl.spiders.page.limit import limited
from p2pcrawl.spiders.page.response import Response

NODE_TAGS_MAX = 100_000
"""Elements of one node: some 40 MB."""

PREFIXES_MAX = 1_000
"""Prefixes of a file whose namespaces are remembered."""

IsWanted = Callable[[str, Mapping[str, set[str]]], bool]
"""A test of a tag, given the addresses that each prefix has stood for."""


def xml_nodes(
    source: Response | str | bytes, is_wanted: IsWanted, *, recover: bool = False, around: Any = None
) -> Iterator[Any]:
    """Yields the elements that are wanted, none that lies within another one, as trees of their own.

    ``around`` is told of the text outside, as ``around(tags, text)``. Raises ``lxml.etree.XMLSyntaxError`` where the
    file is no XML, unless that is to be recovered, and ValueError for a node of more than 100,000 elements.
    """
    data, encoding = _bytes_of(source)
    target = _NodeBuilder(is_wanted, around, recover=recover)
    parser: Any = etree.XMLParser(
        target=target,
        encoding=encoding,
        recover=recover,
        resolve_entities=False,
        no_network=True,
    )
    feed, broken = limited(parser.feed), None
    for chunk in plain_chunks(data):
        try:
            feed(chunk)
        except etree.XMLSyntaxError as error:
            broken = error
        # What came before the mistake counts.
        nodes, target.nodes = target.nodes, []
        yield from nodes
        if broken is not None:
            raise broken
    try:
        parser.close()
    except etree.XMLSyntaxError:
        if not recover:
            raise
    yield from target.nodes


def xmliter(
    obj: Response | str | bytes, nodename: str, namespace: str | None = None, prefix: str = "x"
) -> Iterator[parsel.Selector]:
    """Yields a selector for each node of that name, in the order of their ends.

    The name is that of a node without namespace, of one in ``namespace``, for which ``prefix`` stands in queries then,
    or has a prefix itself, as the file declares it.
    """
    return named_nodes(obj, nodename, ((prefix, namespace),) if namespace else (), is_in=namespace)


def named_nodes(
    source: Response | str | bytes,
    name: str,
    namespaces: Iterable[tuple[str, str]] = (),
    *,
    is_in: str | None = None,
) -> Iterator[parsel.Selector]:
    """Yields a selector for each node of that name, which knows these namespaces by their prefixes. ``is_in``: the
    namespace of a name without prefix.
    """
    prefix, _, local = name.rpartition(":")
    known = dict(namespaces)

    def is_wanted(tag: str, declared: Mapping[str, set[str]]) -> bool:
        if not prefix:
            return tag == (f"{{{is_in}}}{local}" if is_in else local)
        place, _, last = tag.rpartition("}")
        return (
            last == local and bool(place) and (place[1:] == known.get(prefix) or place[1:] in declared.get(prefix, ()))
        )

    for element in xml_nodes(source, is_wanted):
        selector = parsel.Selector(root=element, type="xml")
        if prefix:
            selector.register_namespace(prefix, element.tag[1:].partition("}")[0])
        for each, address in known.items():
            selector.register_namespace(each, address)
        yield selector


def _bytes_of(source: Response | str | bytes) -> tuple[bytes, str | None]:
    if isinstance(source, str):
        return source.encode("utf-8", "replace"), "utf-8"
    if isinstance(source, bytes):
        return source, None
    if not isinstance(source, Response):
        raise TypeError(f"nodes are read from a Response or str or bytes, not {type(source).__name__}")
    if not source.is_text or source.body.startswith(b"\x1f\x8b"):
        return source.body, None
    return (source.body if source.encoding == "utf-8" else source.text.encode("utf-8", "replace")), "utf-8"


class _NodeBuilder:
    """A target of lxml's parsers, which builds trees of wanted nodes and forgets all else."""

    def __init__(
        self, is_wanted: IsWanted, around: Callable[[list[str], str], None] | None, *, recover: bool = False
    ) -> None:
        self.nodes: list[Any] = []
        self._is_wanted, self._around, self._recover = is_wanted, around, recover
        self._declared: dict[str, set[str]] = {}
        self._path: list[str] = []
        self._scopes: list[dict[str | None, str]] = [{}]
        self._builder: Any = None
        self._open: list[str] = []
        self._count = 0

    def start(self, tag: str, attributes: Any, declared: Mapping[str, str]) -> None:
        names = {prefix or None: address for prefix, address in declared.items()} if declared else {}
        if self._builder is not None and self._recover and self._is_wanted(tag, self._declared):
            # End tags are missing: a node would take in all that come after it.
            self._finish()
        if self._builder is not None:
            self._count += 1
            if self._count > NODE_TAGS_MAX:
                raise ValueError(f"a node of more than {NODE_TAGS_MAX:,} elements")
            self._open.append(tag)
            self._builder.start(tag, attributes, names)
            return
        scope = self._scopes[-1]
        if names:
            # xmlns="" takes the default namespace away.
            scope = {prefix: address for prefix, address in {**scope, **names}.items() if address}
            for prefix, address in declared.items():
                if len(self._declared) < PREFIXES_MAX:
                    self._declared.setdefault(prefix, set()).add(address)
        if self._is_wanted(tag, self._declared):
            self._builder, self._open, self._count = etree.TreeBuilder(), [tag], 1
            self._builder.start(tag, attributes, scope)
        else:
            self._path.append(tag)
            self._scopes.append(scope)

    def data(self, text: str) -> None:
        if self._builder is not None:
            self._builder.data(text)
        elif self._around is not None:
            self._around(self._path, text)

    def comment(self, text: str) -> None:
        if self._builder is not None:
            self._builder.comment(text)

    def pi(self, target: str, text: str | None = None) -> None:
        if self._builder is not None:
            self._builder.pi(target, text)

    def end(self, tag: str) -> None:
        if self._builder is not None:
            self._builder.end(self._open.pop())
            if not self._open:
                self._finish()
        elif self._path:
            self._path.pop()
            self._scopes.pop()

    def close(self) -> None:
        # lxml calls it after mistakes, too.
        if self._builder is not None and self._recover:
            self._finish()

    def _finish(self) -> None:
        while self._open:
            self._builder.end(self._open.pop())
        self.nodes.append(self._builder.close())
        self._builder = None
