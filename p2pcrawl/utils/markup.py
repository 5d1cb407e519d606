"""Text out of markup."""

from w3lib.html import (
    get_base_url,
    get_meta_refresh,
    remove_comments,
    remove_tags,
    remove_tags_with_content,
    replace_entities,
    replace_escape_chars,
    replace_tags,
    unquote_markup,
)

__all__ = [
    "get_base_url",
    "get_meta_refresh",
    "remove_comments",
    "remove_tags",
    "remove_tags_with_content",
    "replace_entities",
    "replace_escape_chars",
    "replace_tags",
    "unquote_markup",
]
