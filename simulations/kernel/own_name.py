"""The name of this package: ``simulations`` in a checkout, ``p2pcrawl.simulate`` where p2pcrawl is installed.

A wheel that brought a package called ``simulations`` would take a name that is everybody's.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

PACKAGE: Final = __name__.removesuffix(".kernel.own_name")
COMMAND: Final = f"python -m {PACKAGE}"
"""What its users type before a verb."""
FOLDER: Final = Path(__file__).parent.parent


def example(name: str) -> str:
    """Returns where a plan that comes with the package lies, as short as it can be said here."""
    path = FOLDER / "examples" / name
    with suppress(OSError):  # There may be no such folder any more.
        return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
    return str(path)
