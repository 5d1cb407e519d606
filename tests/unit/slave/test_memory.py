"""What a slave lately reported."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.slave.pages.memory import Memory


@given(st.lists(st.lists(st.text(max_size=2), max_size=10), max_size=30), st.integers(1, 10))
def test_memory_is_bounded_and_remembers_only_what_it_was_told(reports: list[list[str]], capacity: int) -> None:
    memory, told = Memory(capacity), set()

    for keys in reports:
        memory.remember(keys)
        told.update(keys)
        assert all(key in memory for key in keys)
        assert sum(key in memory for key in told) <= 2 * capacity + 10
    assert not any(key in memory for key in ("never told", b""))
