"""Text and bytes, lists and callables."""

from p2pcrawl.spiders.aids.text_forms import (
    binary_is_text,
    flatten,
    get_func_args,
    global_object_name,
    iflatten,
    is_listlike,
    to_bytes,
    to_unicode,
    unique,
    without_none_values,
)

__all__ = [
    "binary_is_text",
    "flatten",
    "get_func_args",
    "global_object_name",
    "iflatten",
    "is_listlike",
    "to_bytes",
    "to_unicode",
    "unique",
    "without_none_values",
]
