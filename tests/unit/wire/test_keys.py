"""The key ring and its file."""

from __future__ import annotations

import base64
import contextlib
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.wire.sealed.keys import KEYS_MAX, KeyRing, cluster_bytes, derive, generate_key, key_id

OLD, NEW = os.urandom(32), os.urandom(32)


def line_of(key: bytes) -> str:
    return base64.b64encode(key).decode()


def test_generated_key_is_a_key_file_by_itself() -> None:
    ring = KeyRing.parse(generate_key())

    assert len(ring.in_use) == 32


def test_generated_keys_differ() -> None:
    assert len({generate_key() for _ in range(100)}) == 100


def test_first_line_is_the_key_in_use() -> None:
    ring = KeyRing.parse(f"# since Tuesday\n\n{line_of(NEW)}  # new\n{line_of(OLD)}\n")

    assert ring.in_use == NEW
    assert ring.named(key_id(OLD)) == OLD


def test_url_safe_base64_is_read_too() -> None:
    assert KeyRing.parse(base64.urlsafe_b64encode(OLD).decode()).in_use == OLD


def test_key_file_of_an_editor_that_marks_utf8_is_read() -> None:
    assert KeyRing.parse(f"\ufeff{line_of(OLD)}\r\n").in_use == OLD


def test_text_reads_back_as_the_same_ring() -> None:
    ring = KeyRing([OLD, NEW])
    ring.use(NEW)

    again = KeyRing.parse(ring.text())

    assert again.ids == ring.ids
    assert again.in_use == NEW


@pytest.mark.parametrize(
    "line",
    ["hunter2", "A" * 43, "A" * 44, line_of(b"password" * 4), line_of(bytes(range(31))), "ключ", "=" * 44, "\x00" * 44],
)
def test_line_that_is_no_key_is_refused_by_its_number_and_not_shown(line: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        KeyRing.parse(f"{line_of(OLD)}\n{line}")

    assert "line 2" in str(caught.value)
    assert line not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing yet\n"])
def test_empty_key_file_names_keygen(text: str) -> None:
    with pytest.raises(ConfigurationError, match="p2pcrawl keygen"):
        KeyRing.parse(text)


def test_same_key_twice_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="already"):
        KeyRing([OLD, OLD])


def test_ring_is_bounded() -> None:
    with pytest.raises(ConfigurationError, match="at most"):
        KeyRing(os.urandom(32) for _ in range(KEYS_MAX + 1))


def test_key_in_use_cannot_be_removed() -> None:
    ring = KeyRing([OLD, NEW])

    with pytest.raises(ConfigurationError, match="in use"):
        ring.remove(OLD)

    assert ring.named(key_id(OLD)) == OLD


def test_key_is_added_then_used_then_the_old_one_removed() -> None:
    ring = KeyRing([OLD])

    ring.add(NEW)
    assert ring.in_use == OLD
    ring.use(NEW)
    ring.remove(OLD)

    assert ring.in_use == NEW
    assert ring.named(key_id(OLD)) is None


def test_unknown_key_can_be_neither_used_nor_removed() -> None:
    ring = KeyRing([OLD])

    for change in (ring.use, ring.remove):
        with pytest.raises(ConfigurationError, match="not in the ring"):
            change(NEW)


def test_reload_with_a_broken_file_changes_nothing() -> None:
    ring = KeyRing([OLD, NEW])
    before = ring.text()

    with pytest.raises(ConfigurationError):
        ring.reload(f"{line_of(NEW)}\nrubbish")

    assert ring.text() == before


def test_reload_keeps_the_very_object_of_a_key_that_stays() -> None:
    ring = KeyRing([OLD])
    held = ring.in_use

    ring.reload(f"{line_of(OLD)}\n{line_of(NEW)}")

    assert ring.in_use is held
    assert len(ring) == 2


def test_neither_repr_nor_error_shows_a_key() -> None:
    ring = KeyRing([OLD])

    assert line_of(OLD) not in repr(ring)
    assert OLD.hex() not in repr(ring)
    assert repr(ring) == f"KeyRing({key_id(OLD).hex()})"


def test_derived_keys_differ_by_key_purpose_and_context() -> None:
    made = {derive(key, purpose, context) for key in (OLD, NEW) for purpose in ("a", "b") for context in (b"", b"c")}

    assert len(made) == 8
    assert all(len(key) == 32 for key in made)


@pytest.mark.parametrize("name", ["", "x" * 65, "line\nbreak"])
def test_cluster_name_that_cannot_be_shown_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError):
        cluster_bytes(name)


@given(st.text(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_ring_or_a_configuration_error(text: str) -> None:
    with contextlib.suppress(ConfigurationError):
        assert len(KeyRing.parse(text)) >= 1
