"""``keygen --bot``: a key that is nobody else's, and what is to be published of it."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from p2pcrawl.cli.cluster.bot_keygen import run_bot_keygen
from p2pcrawl.fetch.signing.bot_key import BotKey
from p2pcrawl.model.errors import ConfigurationError


def test_key_and_its_directory_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, directory = tmp_path / "bot.pem", tmp_path / "directory"

    run_bot_keygen(path, directory, bot=True, step=None)
    run_bot_keygen(path, directory, bot=True, step=None)

    key = BotKey.read(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(directory.read_text()) == {"keys": [key.jwk]}
    told = capsys.readouterr()
    assert told.out == ""
    assert f"made {path} with key {key.thumbprint}" in told.err
    assert f"read {path} with key {key.thumbprint}" in told.err


def test_key_that_hosts_may_know_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "bot.pem"
    run_bot_keygen(path, None, bot=True, step=None)

    with pytest.raises(ConfigurationError, match="is there already"):
        run_bot_keygen(path, None, bot=True, step=None)


@pytest.mark.parametrize(
    ("path", "directory", "bot", "step", "told"),
    [
        (None, None, True, None, "give -o FILE"),
        (Path("x"), Path("y"), False, None, "add --bot"),
        (Path("x"), None, True, "add", "--add is for cluster keys"),
        (Path("no/such/folder/x"), None, True, None, "there is no folder"),
    ],
)
def test_what_makes_no_sense_is_told(
    path: Path | None, directory: Path | None, bot: bool, step: str | None, told: str
) -> None:
    with pytest.raises(ConfigurationError, match=told):
        run_bot_keygen(path, directory, bot=bot, step=step)
