"""Signatures of texts."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from p2pcrawl.model.texts.text_signatures import NEAR_MAX, band_key, distance, exact_signature, near_signature

WORDS = [f"{first}{second}" for first in ("ka", "lo", "mi", "ne", "pu", "ra", "so", "tu") for second in "abcdefghijklm"]


def words_of(seed: int, count: int = 400) -> list[str]:
    dice = Random(seed)
    return [dice.choice(WORDS) for _ in range(count)]


def near_of(text: str) -> bytes:
    signature = near_signature(text)
    assert signature is not None
    return signature


def test_text_differs_from_itself_by_nothing_whatever_its_white_space_and_case() -> None:
    words = words_of(1)

    assert near_of(" ".join(words)) == near_of("\n\n".join(words).upper())
    assert exact_signature(" ".join(words)) == exact_signature("  " + "\t\n".join(words))


def test_exact_signature_differs_by_one_letter() -> None:
    assert exact_signature("one and two") != exact_signature("one and too")


def test_text_and_its_bytes_have_one_exact_signature() -> None:
    assert exact_signature("grün  und blau") == exact_signature("grün und blau".encode())


def test_lone_surrogate_in_a_text_is_no_error() -> None:
    assert len(exact_signature("a \ud800 b")) == 16
    assert len(near_of(" ".join(words_of(1)) + " \ud800")) == 8


def test_one_other_word_in_four_hundred_turns_few_bits() -> None:
    apart = []
    for seed in range(50):
        words = words_of(seed)
        changed = [*words[:200], "otherwise", *words[201:]]
        apart.append(distance(near_of(" ".join(words)), near_of(" ".join(changed))))

    assert sum(each <= 6 for each in apart) >= 45


def test_other_texts_of_the_same_words_are_far_apart() -> None:
    signatures = [near_of(" ".join(words_of(seed))) for seed in range(200)]

    assert min(distance(one, other) for one, other in pairwise(signatures)) > 12


def test_short_text_has_no_near_signature() -> None:
    assert near_signature("Page not found. Please go back.") is None


def test_writing_without_spaces_counts_by_characters() -> None:
    dice = Random(4)
    text = "".join(chr(0x4E00 + dice.randrange(3000)) for _ in range(400))
    changed = text[:200] + "変" + text[201:]

    assert distance(near_of(text), near_of(changed)) <= 8
    assert distance(near_of(text), near_of("".join(reversed(text)))) > 12


@pytest.mark.parametrize("near", range(1, NEAR_MAX + 1))
def test_signatures_within_the_distance_agree_in_a_band(near: int) -> None:
    dice = Random(near)
    for _ in range(200):
        number = dice.getrandbits(64)
        other = number
        for bit in dice.sample(range(64), near):
            other ^= 1 << bit
        one, two = number.to_bytes(8, "big"), other.to_bytes(8, "big")

        assert distance(one, two) == near
        assert any(band_key(one, near, band) == band_key(two, near, band) for band in range(near + 1))


def test_all_bits_are_in_some_band() -> None:
    for near in range(NEAR_MAX + 1):
        for bit in range(64):
            one, two = bytes(8), (1 << bit).to_bytes(8, "big")

            assert sum(band_key(one, near, band) != band_key(two, near, band) for band in range(near + 1)) == 1


def test_bands_of_one_signature_have_other_keys() -> None:
    assert len({band_key(bytes(8), 3, band) for band in range(4)} | {band_key(bytes(8), 0, 0)}) == 5


def test_signatures_of_different_lengths_are_as_far_apart_as_can_be() -> None:
    assert distance(bytes(8), bytes(16)) == 128
