"""The weights of the evidences of a page's type, as plain numbers.

They were fitted on labelled real pages by ``python -m benchmarks.page_types FOLDER --fit``. A weight above 0 speaks
for an article, one below 0 for navigation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WEIGHTS: Final[Mapping[str, float]] = {
    "parts of one product": 2.72,
    "parts of threads": 2.01,
    "it states a product": 2.00,
    "a price in its head": 1.53,
    "a thread's word in the URL": 1.44,
    "quotations": 1.39,
    "some text": 1.38,
    "links within the page": 1.33,
    "a long text": 1.31,
    "code": 1.24,
    "a sentence for a title": 1.10,
    "terms and what they mean": 1.05,
    "a long title": 0.99,
    "related pages": 0.90,
    "a title in the URL": 0.89,
    "headings with numbers": 0.87,
    "a long paragraph": 0.80,
    "text in one place": 0.80,
    "og:type article": 0.77,
    "an item's word in the URL": 0.75,
    "text for each title": 0.67,
    "a table of contents": 0.65,
    "legends": 0.65,
    "a picture with its size": 0.62,
    "a long headline": 0.61,
    "numbered posts": 0.57,
    "an author by name": 0.56,
    "a number in the URL": 0.51,
    "it states a headline": 0.50,
    "paragraphs": 0.48,
    "it states an article": 0.47,
    "a date": 0.44,
    "it states an author": 0.44,
    "class of single pages": 0.33,
    "a day in the URL": 0.30,
    "comments": 0.30,
    "one <article>": 0.26,
    "an author or a day of publication": 0.18,
    "no og:type": -0.21,
    "cards with prices": -0.27,
    "a short headline": -0.31,
    "the same words for many links": -0.37,
    "a pager": -0.46,
    "a plural in the URL": -0.48,
    "a list's word in the URL": -0.57,
    "it states a list": -0.58,
    "titles before the text": -0.62,
    "many pictures": -0.62,
    "class of lists": -0.79,
    "a cart": -0.81,
    "many links": -0.81,
    "teasers by name": -0.82,
    "cards by name": -0.87,
    "links to pages of a list": -0.90,
    "pictures of cards": -0.95,
    "more titles than text": -1.16,
    "it states answers": -1.23,
    "pages by number": -1.34,
    "texts that break off": -1.56,
    "it states a site": -1.65,
    "names of categories": -1.76,
    "a list's word in the title": -1.80,
    "filters": -2.24,
    "the front of a site": -2.31,
}
BALANCE: Final = -1.65
"""The sum at a page without any evidence."""
