"""Pages made up from what a spider wants: for each URL the same at any time, for any number of URLs."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from html import escape
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as patterns
from typing import Any
from urllib.parse import urlsplit

from benchmarks.public.wanted import Demands, Wanted

PAGES = 8
"""Pages of each host that links lead to, beside those that rules want."""
ELEMENTS_MAX = 1500
LAST_PAGE = 4
"""Listings that count their pages have no more: the one after it is empty."""
VOID = {"img", "input", "meta", "link", "br", "hr", "base", "source"}
WORDS = ("amber", "birch", "cobalt", "dune", "ember", "fjord", "grove", "harbor", "iris", "juniper", "kelp", "lagoon")


def page_for(url: str, demands: Demands, paths: list[str]) -> str:
    """Returns the page at a URL. Its links lead to ``paths`` of the same host."""
    dice = random.Random(blake2b(url.encode(), digest_size=8).digest())
    title = " ".join(dice.choices(WORDS, k=3))
    head = f"<head><title>{title}</title><meta name='description' content='{title}'></head>"
    if _is_past_the_end(url):
        return f"<html>{head}<body></body></html>"
    parts: list[str] = []
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(url)) if demands.whole_links else ""
    targets = sorted({origin + path for path in paths})
    for child in demands.body.children:
        for _ in range(child.times):
            parts.extend(_written(child, dice, targets, ELEMENTS_MAX - len(parts)))
    return f"<html>{head}<body>{''.join(parts)}</body></html>"


def paths_of(demands: Demands, starts: Iterable[str]) -> list[str]:
    """Returns the paths that pages link to: some plain ones, and such as rules want.

    None leads to where a spider starts: Scrapy fetches a start page again that is linked, p2pcrawl does not.
    """
    dice = random.Random(1)
    plain = [f"/p/{number}.html" for number in range(PAGES)]
    ruled = [path for pattern in demands.link_patterns for _ in range(2) if (path := _path_like(pattern, dice))]
    begun = {urlsplit(url).path for url in starts}
    return [path for path in dict.fromkeys([*plain, *ruled]) if path not in begun]


def _is_past_the_end(url: str) -> bool:
    asked = urlsplit(url)._replace(netloc="").geturl()
    numbers = re.findall(r"(?i)(?:page|pg|p|start|offset|from)[=/_-]*(\d{1,6})", asked)
    return any(int(number) > LAST_PAGE and "/p/" not in url for number in numbers)


def _written(wanted: Wanted, dice: random.Random, targets: list[str], left: int) -> Iterator[str]:
    if left <= 0:
        return
    attributes = dict(wanted.attributes)
    if wanted.id:
        attributes["id"] = wanted.id
    if wanted.classes:
        attributes["class"] = " ".join(sorted(wanted.classes))
    if wanted.tag == "a":
        attributes.setdefault("href", "")
    written = "".join(f' {name}="{escape(value or _value(name, dice, targets))}"' for name, value in attributes.items())
    yield f"<{wanted.tag}{written}>"
    if wanted.tag in VOID:
        return
    told = f"{' '.join(dice.choices(WORDS, k=2))} {dice.randrange(1, 500)}.{dice.randrange(10, 99)}"
    yield escape(wanted.text or told)
    for child in wanted.children:
        for _ in range(child.times):
            yield from _written(child, dice, targets, left - 1)
    yield f"</{wanted.tag}>\n"


def _value(name: str, dice: random.Random, targets: list[str]) -> str:
    if name in ("href", "data-href", "data-url", "action"):
        return dice.choice(targets)
    if name in ("src", "data-src", "srcset"):
        return f"/img/{dice.randrange(9)}.jpg"
    return f"{dice.choice(WORDS)} {dice.randrange(1, 99)}"


def _path_like(pattern: str, dice: random.Random) -> str:
    """Returns a path that the pattern of a rule would take; "" where none was found."""
    try:
        text = "".join(_matching(patterns.parse(pattern), dice))
    except (re.error, RecursionError, NotImplementedError):
        return ""
    path = urlsplit(text).path if "://" in text else text
    path = "/" + path.lstrip("/")
    return path if re.search(pattern, f"http://host{path}") and path.isprintable() and " " not in path else ""


def _matching(parsed: Any, dice: random.Random) -> Iterator[str]:
    for code, value in parsed:
        if code is codes.LITERAL:
            yield chr(value)
        elif code is codes.ANY:
            yield dice.choice("abcxyz")
        elif code is codes.IN:
            yield _one_of(value, dice)
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            low, high, inner = value
            for _ in range(max(low, min(high, 3))):
                yield from _matching(inner, dice)
        elif code is codes.SUBPATTERN:
            yield from _matching(value[3], dice)
        elif code is codes.BRANCH:
            yield from _matching(dice.choice(value[1]), dice)
        elif code in (codes.AT, codes.ASSERT, codes.ASSERT_NOT):
            continue
        else:
            raise NotImplementedError(str(code))


def _one_of(choices: Any, dice: random.Random) -> str:
    if choices[0][0] is codes.NEGATE:
        return "q"
    code, value = dice.choice(choices)
    if code is codes.LITERAL:
        return chr(value)
    if code is codes.RANGE:
        return chr(dice.randint(*value))
    return "7" if value is codes.CATEGORY_DIGIT else "w"
