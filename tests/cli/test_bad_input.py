"""Each mistake gets one clear line on standard error, and exit code 2."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.frontier.database.schema import FILE, FolderLock
from tests.cli.conftest import Run

START = "http://127.0.0.1:9/"

SPIDERS = {
    "syntax.py": "from p2pcrawl import Spider\nclass A(Spider)\n    pass\n",
    "none.py": "answer = 42\n",
    "raises.py": "def f():\n    return {}['nope']\nf()\n",
    "nowhere.py": "from p2pcrawl import Spider\nclass A(Spider):\n    pass\n",
    "several.py": "from p2pcrawl import Spider\nclass A(Spider):\n    pass\nclass B(Spider):\n    pass\n",
    "init.py": (
        "from p2pcrawl import Spider\nclass A(Spider):\n    start_urls = ['http://127.0.0.1:9/']\n"
        "    def __init__(self, **kw):\n        raise ValueError('no\\nluck')\n"
    ),
    "argument.py": (
        "from p2pcrawl import Spider\nclass A(Spider):\n    start_urls = ['http://127.0.0.1:9/']\n"
        "    def __init__(self, tag):\n        super().__init__()\n"
    ),
    "starts.py": "from p2pcrawl import Spider\nclass A(Spider):\n    start_urls = ['ftp://example.com/']\n",
    "custom.py": (
        "from p2pcrawl import Spider\nclass A(Spider):\n    start_urls = ['http://127.0.0.1:9/']\n"
        "    custom_settings = {'depth_limits': 1}\n"
    ),
    "pipeline.py": (
        "from p2pcrawl import Spider\nclass P:\n"
        "    def open_spider(self, spider):\n        raise OSError('no database')\n"
        "class A(Spider):\n    start_urls = ['http://127.0.0.1:9/']\n    custom_settings = {'ITEM_PIPELINES': {P: 1}}\n"
    ),
}


def refusal(result: Any) -> str:
    """The one line. Fails when there is more, or less."""
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("p2pcrawl: ")
    return str(lines[0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["crawl", "http://"], "not a valid URL", id="url-without-host"),
        pytest.param(["crawl", START, "-s", "USER_AGENT=\udcff"], "a setting cannot travel", id="setting-no-text"),
        pytest.param(["crawl", START, "-O", "o\udcff.csv"], "a name that is no text", id="output-no-text"),
        pytest.param(["crawl", "ftp://example.com/"], "only http and https", id="unsupported-scheme"),
        pytest.param(["crawl", "example.com"], "did you mean https://example.com?", id="url-without-scheme"),
        pytest.param(["crawl", "gone.py"], "there is no file gone.py", id="no-such-file"),
        pytest.param(["crawl", "syntax.py"], "syntax.py, line 2: syntax error", id="syntax-error"),
        pytest.param(["crawl", "none.py"], "there is no spider in none.py", id="no-spider"),
        pytest.param(["crawl", "several.py"], "several.py:A", id="several-spiders"),
        pytest.param(["crawl", "raises.py"], "raises.py, line 2, cannot be imported: KeyError", id="raises-at-import"),
        pytest.param(["crawl", "nowhere.py"], "nowhere to start", id="no-start-urls"),
        pytest.param(["crawl", "starts.py"], "start_urls of spider a: ftp", id="bad-start-url"),
        pytest.param(["crawl", "init.py"], "ValueError: no (", id="init-raises"),
        pytest.param(["crawl", "argument.py"], "add -a tag=VALUE", id="argument-missing"),
        pytest.param(
            ["crawl", "argument.py", "-a", "tag=1", "-a", "tga=2"], "no argument 'tga'", id="argument-unknown"
        ),
        pytest.param(["crawl", "custom.py"], "did you mean DEPTH_LIMIT?", id="unknown-custom-setting"),
        pytest.param(["crawl", START, "-s", "DOWNLOAD_DELEY=1"], "did you mean DOWNLOAD_DELAY?", id="unknown-setting"),
        pytest.param(
            ["crawl", START, "-s", "DOWNLOAD_DELAY=soon"], "needs a value of type float", id="setting-of-no-use"
        ),
        pytest.param(["crawl", START, "-s", "DOWNLOAD_DELAY"], "-s KEY=VALUE", id="setting-without-value"),
        pytest.param(["crawl", START, "-a", "tag"], "-a NAME=VALUE", id="argument-without-value"),
        pytest.param(["crawl", START, "--slaves", "-1"], "--slaves", id="negative-slaves"),
        pytest.param(["crawl", START, "-o", "out.txt"], ".jsonl, .json, .csv or .xml", id="unknown-format"),
        pytest.param(["crawl", START, "-o", "gone/out.csv"], "there is no folder gone", id="no-folder-for-output"),
        pytest.param(["crawl", START, "-o", "/proc/out.jsonl"], "cannot write /proc/out.jsonl", id="unwritable-output"),
        pytest.param(["crawl", START, "-o", "a.jsonl", "-O", "a.jsonl"], "given twice", id="output-twice"),
        pytest.param(["crawl", START, "--data", "none.py"], "is a file", id="data-is-a-file"),
        pytest.param(["crawl", START, "--loglevel", "LOUD"], "LOUD", id="unknown-level"),
        pytest.param(["crawl", START, "--logfile", "gone/log"], "cannot write the log file", id="unwritable-log"),
        pytest.param(["crawl", START, "--nope"], "--nope", id="unknown-option"),
        pytest.param(["crawl"], "TARGET", id="no-target"),
        pytest.param(["crwal", START], "did you mean crawl?", id="unknown-verb"),
        pytest.param([START], f"did you mean `p2pcrawl crawl {START}`?", id="verb-forgotten"),
        pytest.param(["why", START], "--data", id="why-without-data"),
        pytest.param(["why", START, "--data", "gone"], "not a p2pcrawl data folder", id="why-without-folder"),
        pytest.param(["shell", "ftp://example.com/"], "only http and https", id="shell-of-another-scheme"),
    ],
)
def test_mistake_is_told_in_one_line_with_exit_code_2(
    run: Run, tmp_path: Path, arguments: list[str], said: str
) -> None:
    for name, text in SPIDERS.items():
        (tmp_path / name).write_text(text)

    line = refusal(run(*arguments))

    assert said in line


@pytest.mark.parametrize("slaves", [0, 1])
def test_pipeline_that_cannot_open_is_told_in_one_line(run: Run, tmp_path: Path, slaves: int) -> None:
    (tmp_path / "pipeline.py").write_text(SPIDERS["pipeline.py"])

    line = refusal(run("crawl", "pipeline.py", "--slaves", slaves))

    assert "OSError: no database" in line and "pipeline.py, line 4" in line


def test_mistake_leaves_no_data_folder_behind(run: Run, tmp_path: Path) -> None:
    (tmp_path / "argument.py").write_text(SPIDERS["argument.py"])

    refusal(run("crawl", "argument.py", "--data", "run1", "-o", "out.jsonl"))

    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == ["argument.py"]


def test_traceback_is_shown_with_debug(run: Run, tmp_path: Path) -> None:
    (tmp_path / "raises.py").write_text(SPIDERS["raises.py"])

    result = run("crawl", "raises.py", "--debug")

    assert result.returncode == 2
    assert "Traceback" in result.stderr and "return {}['nope']" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("p2pcrawl: raises.py, line 2")


# -- data folders -----------------------------------------------------------------------------------


@pytest.fixture
def crawled(run: Run, tmp_path: Path, site: dict[str, Any]) -> Path:
    """The data folder of a finished crawl, all of it in one file."""
    folder = tmp_path / "run1"
    result = run("crawl", site["start"], "--slaves", 0, "--data", folder)
    assert result.returncode == 0, result.stderr
    for name in (f"{FILE}-wal", f"{FILE}-shm"):
        assert not (folder / name).exists() or (folder / name).stat().st_size == 0
    return folder


def test_folder_in_use_names_the_process_that_uses_it(run: Run, tmp_path: Path) -> None:
    lock = FolderLock(tmp_path / "run1")
    try:
        line = refusal(run("crawl", START, "--data", "run1"))
    finally:
        lock.release()

    assert f"in use by process {os.getpid()}" in line


def test_folder_of_another_version_is_refused(run: Run, crawled: Path, site: dict[str, Any]) -> None:
    connection = sqlite3.connect(crawled / FILE)
    connection.execute("PRAGMA user_version=99")
    connection.close()

    for arguments in (["crawl", site["start"]], ["why", site["start"]]):
        assert "data format 99" in refusal(run(*arguments, "--data", crawled))


def test_folder_of_another_program_is_refused(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir(mode=0o700)
    connection = sqlite3.connect(folder / FILE)
    connection.execute("CREATE TABLE something (a)")
    connection.close()

    assert "was not written by p2pcrawl" in refusal(run("crawl", START, "--data", folder))


def test_folder_of_another_crawl_is_refused(run: Run, crawled: Path, site: dict[str, Any]) -> None:
    line = refusal(run("crawl", START, "--data", crawled))

    assert "holds another crawl" in line and site["start"] in line


def test_random_bytes_instead_of_a_database_are_refused(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run1"
    folder.mkdir(mode=0o700)
    (folder / FILE).write_bytes(bytes(range(256)) * 64)

    for arguments in (["crawl", START], ["why", START]):
        assert "is damaged" in refusal(run(*arguments, "--data", folder))


@pytest.mark.parametrize("kept", [0, 5_000, 0.5])
def test_truncated_database_is_refused(run: Run, crawled: Path, site: dict[str, Any], kept: float) -> None:
    for extra in crawled.glob(f"{FILE}-*"):
        extra.unlink()
    size = (crawled / FILE).stat().st_size
    os.truncate(crawled / FILE, int(kept if kept > 1 else size * kept))
    spare = crawled.with_name("run2")
    shutil.copytree(crawled, spare)

    assert "is damaged" in refusal(run("crawl", site["start"], "--data", crawled))
    assert "is damaged" in refusal(run("why", site["start"], "--data", spare))
