"""What a user typed, as a spider or as one clear line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from p2pcrawl.model.crawl.job import SpiderRef
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.loading.load import load_spider, parse_target, reference_of
from p2pcrawl.spiders.loading.plain import Links
from p2pcrawl.spiders.spider import Spider

HEAD = "from p2pcrawl.spiders.spider import Spider\n"
ROOT = Path(__file__).parents[3]


def write(folder: Path, text: str, name: str = "shop.py") -> str:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return str(file)


@pytest.fixture(autouse=True)
def same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_url_becomes_the_default_spider() -> None:
    ref = parse_target("HTTP://Example.com:80")

    assert ref == SpiderRef(urls=("http://example.com/",))
    cls = load_spider(ref)
    assert issubclass(cls, Links)
    assert list(cls().start_urls) == ["http://example.com/"]
    assert reference_of(cls) == ref


def test_only_spider_of_a_file_needs_no_name(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD + "class Base(Spider): ...\nclass Shop(Base): ...\n")

    ref = parse_target(path)

    assert ref == SpiderRef(file=path, qualname="Shop")
    assert load_spider(ref).name == "shop"
    assert load_spider(ref) is load_spider(ref)
    assert reference_of(load_spider(ref)) == ref


def test_module_and_class_name_a_spider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, HEAD + "class Shop(Spider): ...\n", "shopmodule_for_test.py")
    monkeypatch.chdir(tmp_path)
    sys.path.insert(0, str(tmp_path))

    ref = parse_target("shopmodule_for_test:Shop")

    assert ref == SpiderRef(module="shopmodule_for_test", qualname="Shop")
    assert reference_of(load_spider(ref)) == ref


def test_neighbours_and_packages_can_be_imported(tmp_path: Path) -> None:
    write(tmp_path, "FIELD = 1\n", "neighbour_for_test.py")
    write(tmp_path, "", "pkg_for_test/__init__.py")
    write(tmp_path, "FIELD = 2\n", "pkg_for_test/items.py")
    alone = write(tmp_path, HEAD + "import neighbour_for_test\nclass A(Spider): n = neighbour_for_test.FIELD\n", "a.py")
    inside = write(tmp_path, HEAD + "from .items import FIELD\nclass B(Spider): n = FIELD\n", "pkg_for_test/b.py")

    assert load_spider(parse_target(alone)).n == 1  # type: ignore[attr-defined]
    assert load_spider(parse_target(inside)).n == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(:\n", "line 1: syntax error"),
        ("x = 1\ny = x.nothing\n", "line 2, cannot be imported: AttributeError"),
        ("import no_such_module_at_all\n", "No module named"),
        ("import sys\nsys.exit(3)\n", "SystemExit"),
        ("x = 1\n", "there is no spider in"),
        (HEAD, "there is no spider in"),
        (HEAD + "class B(Spider): ...\nclass A(Spider): ...\n", r"several spiders \(A, B\): name one"),
    ],
)
def test_file_that_cannot_be_used_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        parse_target(write(tmp_path, text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("http://", "host cannot be read"),
        ("http://exa mple", "host cannot be read"),
        ("http://[::1", "host cannot be read"),
        ("ftp://example.com", "ftp cannot be fetched"),
        ("example.com", "did you mean https://example.com"),
        ("example.com/a?b", "did you mean https://example.com/a"),
        ("localhost:8000", "did you mean https://localhost:8000"),
        ("missing.py", "there is no file missing.py"),
        ("missing.py:Shop", "there is no file missing.py"),
        ("crawl.toml", "board crawl.toml cannot be read"),
        ("nomodule_at_all:Shop", "there is no module nomodule_at_all"),
        ("json:Shop", "there is no Shop in json"),
        ("json:JSONDecoder", "is not a spider"),
        ("what", "not something to crawl"),
        ("", "not something to crawl"),
        (".", "is a folder"),
    ],
)
def test_target_that_cannot_be_crawled_is_one_clear_line(target: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        parse_target(target)
    assert "\n" not in str(caught.value)


def test_class_in_a_function_has_no_reference() -> None:
    class Local(Spider): ...

    assert reference_of(Local) is None


def test_script_is_found_as_a_file_and_its_main_block_does_not_run_again(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        HEAD
        + "from p2pcrawl.spiders.loading.load import load_spider, reference_of\n"
        + "class Shop(Spider): ...\n"
        + "if __name__ == '__main__':\n"
        + "    ref = reference_of(Shop)\n"
        + "    print('main', ref.file == __file__, load_spider(ref) is Shop)\n",
    )

    ran = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        timeout=20,
    )
    loaded = load_spider(parse_target(script))

    assert ran.stdout == "main True True\n", ran.stderr
    assert loaded.name == "shop"
