"""The weights of the evidences of a page's type, as plain numbers.

They were fitted on labelled real pages by ``python -m benchmarks.page_types FOLDER --fit``. A weight above 0 speaks
for an article, one below 0 for navigation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WEIGHTS: Final[Mapping[str, float]] = {
    "parts of one product": 2.78,
    "parts of threads": 2.04,
    "it states a product": 2.03,
    "a price in its head": 1.53,
    "a thread's word in the URL": 1.45,
    "quotations": 1.40,
    "some text": 1.37,
    "a long text": 1.31,
    "links within the page": 1.29,
    "code": 1.24,
    "a sentence for a title": 1.12,
    "terms and what they mean": 1.08,
    "a long title": 0.94,
    "related pages": 0.91,
    "a title in the URL": 0.89,
    "headings with numbers": 0.87,
    "a long paragraph": 0.85,
    "text in one place": 0.83,
    "og:type article": 0.78,
    "an item's word in the URL": 0.76,
    "a table of contents": 0.67,
    "legends": 0.66,
    "text for each title": 0.65,
    "a picture with its size": 0.60,
    "an author by name": 0.57,
    "a long headline": 0.57,
    "numbered posts": 0.56,
    "a number in the URL": 0.52,
    "it states a headline": 0.51,
    "it states an article": 0.48,
    "paragraphs": 0.47,
    "it states an author": 0.44,
    "a date": 0.38,
    "class of single pages": 0.35,
    "comments": 0.31,
    "a day in the URL": 0.29,
    "one <article>": 0.25,
    "an author or a day of publication": 0.20,
    "no og:type": -0.19,
    "cards with prices": -0.26,
    "a short headline": -0.29,
    "the same words for many links": -0.36,
    "a pager": -0.49,
    "a plural in the URL": -0.49,
    "it states a list": -0.57,
    "a list's word in the URL": -0.58,
    "titles before the text": -0.62,
    "many pictures": -0.68,
    "a cart": -0.78,
    "class of lists": -0.78,
    "teasers by name": -0.79,
    "many links": -0.83,
    "cards by name": -0.88,
    "links to pages of a list": -0.89,
    "pictures of cards": -0.90,
    "more titles than text": -1.15,
    "it states answers": -1.20,
    "pages by number": -1.33,
    "texts that break off": -1.54,
    "it states a site": -1.64,
    "names of categories": -1.73,
    "a list's word in the title": -1.76,
    "the front of a site": -2.28,
    "filters": -2.38,
}
BALANCE: Final = -1.67
"""The sum at a page without any evidence."""
