"""Files made of templates, and names in the ways of classes."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from string import Template
from typing import Any


def render_templatefile(path: str | PathLike[str], **values: Any) -> None:
    """Fills ``$name`` in a file. One that ends in ``.tmpl`` is renamed to be without it."""
    file = Path(path)
    text = Template(file.read_text(encoding="utf-8")).substitute(**values)
    if file.suffix == ".tmpl":
        file = file.rename(file.with_suffix(""))
    file.write_text(text, encoding="utf-8")


def string_camelcase(text: str) -> str:
    """Returns words with a capital each, and nothing between them."""
    return re.sub(r"[^a-zA-Z\d]", "", text.title())
