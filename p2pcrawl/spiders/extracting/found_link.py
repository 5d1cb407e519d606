"""One link as a LinkExtractor finds it; people know the class as ``p2pcrawl.link.Link``."""

from __future__ import annotations


class FoundLink:
    """A link of a page: its absolute URL, the text between its tags, and whether it asks not to be followed.

    ``fragment`` is for whoever takes it out of the URL; a LinkExtractor leaves it there.
    """

    __slots__ = ("fragment", "nofollow", "text", "url")

    def __init__(self, url: str, text: str = "", fragment: str = "", nofollow: bool = False) -> None:
        if not isinstance(url, str):
            raise TypeError(f"the URL of a link is text, not {type(url).__name__}")
        self.url = url
        self.text = text
        self.fragment = fragment
        self.nofollow = nofollow

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FoundLink):
            return NotImplemented
        return self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __repr__(self) -> str:
        return f"Link(url={self.url!r}, text={self.text!r}, fragment={self.fragment!r}, nofollow={self.nofollow!r})"

    @property
    def _parts(self) -> tuple[str, str, str, bool]:
        return self.url, self.text, self.fragment, self.nofollow
