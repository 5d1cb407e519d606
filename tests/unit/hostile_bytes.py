"""Bytes as somebody might send them who means harm: sound ones that were damaged, and others that never were sound."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec

from p2pcrawl.model.crawl.fingerprint import SIZE
from p2pcrawl.wire.messages.slave_messages import LinkColumns

NESTED = (b"\x91", b"\x81\xa1a", b"\x92\x01")
ENDLESS = (b"\xdd", b"\xdf", b"\xc6", b"\xdb", b"\xc9")
"""The beginnings of a msgpack array, map, string and so on whose length follows in four bytes."""


def damaged(dice: Random, sound: bytes, size_max: int) -> bytes:
    """Damages a message; not always into another one, and not always into none."""
    cut = dice.randrange(len(sound) + 1)
    match dice.randrange(8):
        case 0:
            return dice.randbytes(dice.randrange(120))
        case 1:
            return sound[:cut]
        case 2:
            return sound[:cut] + dice.randbytes(dice.randrange(1, 40)) + sound[cut:]
        case 3:
            return sound[:cut] + dice.choice(ENDLESS) + b"\xff\xff\xff\xff" + sound[cut:]
        case 4 if dice.randrange(20) == 0:
            return sound[:cut] + dice.choice(NESTED) * size_max
        case _:
            flipped = bytearray(sound)
            for _ in range(dice.randint(1, 5) if flipped else 0):
                flipped[dice.randrange(len(flipped))] = dice.getrandbits(8)
            return bytes(flipped)


def held_bytes(machine: object) -> int:
    """How many bytes somebody has made a machine keep that waits for more of them."""
    return sum(len(value) for value in vars(machine).values() if isinstance(value, bytearray))


def one_of_each(kinds: Sequence[type], dice: Random) -> list[Any]:
    """A message of every kind, with a value of the right type in every field."""
    return [_value(msgspec.inspect.type_info(kind), dice) for kind in kinds]


def _value(kind: msgspec.inspect.Type, dice: Random) -> Any:
    match kind:
        case msgspec.inspect.StructType():
            values = {field.name: _value(field.type, dice) for field in kind.fields}
            if kind.cls is LinkColumns:
                values["fingerprints"] = dice.randbytes(SIZE * len(values["urls"]))
            return kind.cls(**values)
        case msgspec.inspect.NamedTupleType():
            return kind.cls(**{field.name: _value(field.type, dice) for field in kind.fields})
        case msgspec.inspect.ListType():
            return [_value(kind.item_type, dice) for _ in range(2)]
        case msgspec.inspect.TupleType():
            return tuple(_value(item, dice) for item in kind.item_types)
        case msgspec.inspect.DictType():
            return {_value(kind.key_type, dice): _value(kind.value_type, dice)}
        case msgspec.inspect.UnionType():
            return _value(dice.choice(kind.types), dice)
        case _:
            return _plain_value(kind, dice)


def _plain_value(kind: msgspec.inspect.Type, dice: Random) -> Any:
    """A value that holds no others."""
    match kind:
        case msgspec.inspect.IntType():
            return min(kind.le if kind.le is not None else 1 << 32, max(kind.ge or 0, dice.getrandbits(8)))
        case msgspec.inspect.FloatType():
            return float(kind.ge or 0.0)
        case msgspec.inspect.BoolType():
            return dice.random() < 0.5
        case msgspec.inspect.StrType():
            return dice.choice(["", "host", "http://h.example/a?b=c", "\N{SNOWMAN}"])
        case msgspec.inspect.BytesType():
            return dice.randbytes(kind.min_length or dice.randrange(20))
        case msgspec.inspect.EnumType():
            return dice.choice(list(kind.cls))
        case msgspec.inspect.NoneType() | msgspec.inspect.AnyType():
            return None
        case _:
            raise TypeError(f"no value for a field of {kind}")
