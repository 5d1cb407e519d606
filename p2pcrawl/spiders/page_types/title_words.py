"""The words of titles: how many, and how many that only sentences have."""

from __future__ import annotations

import re
from typing import Final

from p2pcrawl.spiders.page_types.text_size import letters_in
from p2pcrawl.spiders.page_types.word_sets import word_set

LETTERS_OF_WORD: Final = 6
"""The letters of a word, where a script does not part words."""

_SMALL: Final = word_set(
    "the a an to in is are was you your how what why when who do does with on it from at that this my we can be by not"
    " der das den dem ein eine einen ist sind war im zu wie was warum wer mit auf nicht sich wird"
    " le les une est sont dans pour comment pourquoi qui que avec sur pas se son sa"
    " el los un una es son en para como por que con su se del al"
    " il lo gli di da per come perché chi non si nel della"
    " o os um uma é são em no na com não seu sua dos das"
    " het een zijn voor van hoe waarom wie met op niet wordt"
    " и в на не что как почему кто это из за от по для"
    " i w na nie jak co dlaczego kto jest z do"
).difference(("a", "in", "o", "i", "z"))
_list_title = re.compile(
    r"^\W*(?:list of|liste (?:de|der|des|von)|lista (?:de|di)|category:|kategorie:|catégorie :|categoría:|index of)|"
    r"\b(?:archives|categories|directory|catalogu?e?|collections|search results|rankings?|archivio|archivos|"
    r"catálogo|directorio|verzeichnis)\W*$",
    re.IGNORECASE,
).search
_words = re.compile(r"[^\W_]+").findall


def words_in(title: str) -> int:
    """Returns how many words a title has, as many as its size would have where a script does not part them."""
    count = len(_words(title))
    return count if title.isascii() else max(count, (letters_in(title) - len(title.strip())) // LETTERS_OF_WORD)


def small_words(title: str) -> int:
    """Returns how many different words a title has that sentences have, and names have not."""
    return len(_SMALL.intersection(each.lower() for each in _words(title)))


def names_a_list(title: str) -> bool:
    """Tells whether a title says that its page is a list: at its beginning, or in its last word."""
    return _list_title(title) is not None
