"""Near copies of texts, and texts that are none: how many of each are told by their signatures, at each distance.

``python -m benchmarks.texts.near_copies``. The texts are made up: articles of 150 to 900 words by a Zipf law, copied
with the changes that copies on the web have, and other articles of the same site, which share a box of words with them.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Mapping
from itertools import accumulate

from p2pcrawl.model.texts.text_signatures import NEAR_MAX, distance, exact_signature, near_signature

VOCABULARY = 20_000
BOX_WORDS = 60
"""What all articles of the site have in their main text, because nothing tells that it is none of it."""
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
Words = list[str]
Change = Callable[[random.Random, Words], Words]


class Language:
    """Words by a Zipf law."""

    def __init__(self, dice: random.Random) -> None:
        letters = "etaoinshrdlucmfwypvbgkjqxz"
        self._words = ["".join(dice.choices(letters, k=dice.randint(2, 9))) for _ in range(VOCABULARY)]
        self._sums = list(accumulate(1 / (rank + 2) for rank in range(VOCABULARY)))

    def words(self, dice: random.Random, count: int) -> Words:
        return dice.choices(self._words, cum_weights=self._sums, k=count)


def changes(language: Language) -> Mapping[str, Change]:
    """Returns what copies differ in, by its name."""

    def line(dice: random.Random, words: Words) -> Words:
        return [*language.words(dice, 8), *words, *language.words(dice, 8)]

    def day(dice: random.Random, words: Words) -> Words:
        return ["Updated", dice.choice(DAYS), str(dice.randint(1, 28)), "November", f"{dice.randint(0, 23)}", *words]

    def paragraph(dice: random.Random, words: Words) -> Words:
        place = dice.randrange(len(words))
        return [*words[:place], *language.words(dice, 40), *words[place:]]

    def typos(dice: random.Random, words: Words) -> Words:
        return [word[:-1] + "zq" if dice.random() < 0.01 else word for word in words]

    def rewritten(dice: random.Random, words: Words) -> Words:
        return [language.words(dice, 1)[0] if dice.random() < 0.2 else word for word in words]

    return {
        "white space and case": lambda dice, words: [word.upper() + "\n" for word in words],
        "a date and a time": day,
        "a line before and one behind": line,
        "one word in a hundred": typos,
        "a paragraph of 40 words more": paragraph,
        "every fifth word (no copy)": rewritten,
    }


def told(count: int, seed: int) -> tuple[dict[str, list[float]], list[float], dict[str, float]]:
    """Returns the share of pairs that are told at each distance, by kind and of other articles; and what they cost."""
    dice = random.Random(seed)
    language = Language(dice)
    box = language.words(dice, BOX_WORDS)
    articles = [[*language.words(dice, dice.randint(150, 900)), *box] for _ in range(count)]
    began = time.process_time()
    signatures = [near_signature(" ".join(words)) for words in articles]
    costs = {"near": (time.process_time() - began) / count}
    began = time.process_time()
    for words in articles:
        exact_signature(" ".join(words))
    costs["exact"] = (time.process_time() - began) / count
    kinds = {}
    for name, change in changes(language).items():
        apart = [
            _apart(a, near_signature(" ".join(change(dice, b)))) for a, b in zip(signatures, articles, strict=True)
        ]
        kinds[name] = [sum(each <= most for each in apart) / count for most in range(NEAR_MAX + 1)]
    pairs = [_apart(one, other) for n, one in enumerate(signatures) for other in signatures[:n]]
    others = [sum(each <= most for each in pairs) / len(pairs) for most in range(NEAR_MAX + 1)]
    return kinds, others, costs


def _apart(one: bytes | None, other: bytes | None) -> int:
    return distance(one or b"", other or b"") if one and other else 64


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    kinds, others, costs = told(options.texts, options.seed)
    print(f"{'bits':34}" + "".join(f"{most:>8}" for most in range(NEAR_MAX + 1)))
    for name, shares in kinds.items():
        print(f"{name:34}" + "".join(f"{share:8.1%}" for share in shares))
    print(f"{'other articles of the site':34}" + "".join(f"{share:8.5f}" for share in others))
    print(f"ms of CPU a text: near {1000 * costs['near']:.2f}, exact {1000 * costs['exact']:.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
