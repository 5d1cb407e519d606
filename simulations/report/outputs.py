"""The files into which simulations write what came of them."""

from __future__ import annotations

from pathlib import Path

from p2pcrawl.model.errors import ConfigurationError


def refuse_unwritable(path: Path) -> None:
    """Raises ConfigurationError before anything runs, not when all of it has run. What is in the file stays."""
    try:
        path.open("a").close()
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
