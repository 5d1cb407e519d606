"""The documentation is true: its snippets run, its settings and its links exist."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from p2pcrawl.model.crawl.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "examples" / "README.md"])
SNIPPETS = [
    pytest.param(page, code, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL), 1)
]


@pytest.mark.parametrize(("page", "code"), SNIPPETS)
def test_snippet_defines_a_spider_that_slaves_can_load(page: Path, code: str, tmp_path: Path) -> None:
    file = tmp_path / "snippet.py"
    file.write_text(code)
    names = [
        node.name
        for node in ast.parse(code).body
        if isinstance(node, ast.ClassDef) and any(isinstance(b, ast.Name) and b.id == "Spider" for b in node.bases)
    ]
    script = (
        "from p2pcrawl.spiders.loading.load import parse_target, load_spider\n"
        "from p2pcrawl.spiders.loading.chosen import merged_settings\n"
        "from p2pcrawl import Settings\n"
        f"for name in {names!r}:\n"
        f"    cls = load_spider(parse_target({str(file)!r} + ':' + name))\n"
        "    merged_settings(Settings(), cls)\n"
        "    print(cls().name)\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [name.lower() for name in names]


def test_settings_page_names_every_setting_and_no_other() -> None:
    text = (ROOT / "docs" / "settings.md").read_text()
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]

    named = [name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)]

    assert sorted(named) == sorted(field.name.upper() for field in fields(Settings) if field.name != "own")


@pytest.mark.parametrize("name", [f.name for f in fields(Settings) if isinstance(f.default, int | float | bool)])
def test_settings_page_tells_the_default(name: str) -> None:
    text = (ROOT / "docs" / "settings.md").read_text()

    row = next(line for line in text.splitlines() if line.startswith(f"| `{name.upper()}`"))

    assert row.split("|")[2].strip().removesuffix("\\*").strip() == str(getattr(Settings(), name))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text())

    assert [t for t in targets if not (page.parent / t).exists()] == []


def pages_named_by(page: Path) -> list[Path]:
    targets = re.findall(r"\]\((?!https?://)([^)#]+\.md)", page.read_text())
    return [(page.parent / target).resolve() for target in targets]


def test_every_page_is_reached_from_the_readme() -> None:
    reached, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page not in reached:
            reached.add(page)
            ahead += pages_named_by(page)

    assert sorted(set(PAGES) - reached) == []


def test_every_page_of_the_documentation_has_its_place_in_the_reading_order() -> None:
    index = ROOT / "docs" / "README.md"

    assert sorted(set((ROOT / "docs").glob("*.md")) - {index, *pages_named_by(index)}) == []


def test_what_is_drawn_from_the_code_is_up_to_date() -> None:
    """Redraw it with ``python docs/draw.py``."""
    drawn: dict[str, str] = runpy.run_path(str(ROOT / "docs" / "draw.py"))["drawn"]()

    assert drawn
    assert [name for name, text in drawn.items() if (ROOT / "docs" / name).read_text() != text] == []


def test_every_picture_is_shown_by_a_page() -> None:
    shown = {name for page in PAGES for name in re.findall(r"!\[[^\]]+\]\(([^)]+\.svg)\)", page.read_text())}

    assert sorted(path.name for path in (ROOT / "docs").glob("*.svg")) == sorted(shown)


LAYERS = "|".join(sorted(path.name for path in (ROOT / "p2pcrawl").iterdir() if (path / "__init__.py").exists()))


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "CHANGELOG"], ids=lambda page: page.stem)
def test_modules_that_a_page_names_are_where_it_says(page: Path) -> None:
    named = re.findall(rf"`((?:{LAYERS})\.(?!db`)[a-z_.]+?)(?:\.[A-Z]\w*)?`", page.read_text())
    paths = [ROOT / "p2pcrawl" / name.replace(".", "/") for name in named]

    assert [str(path) for path in paths if not path.is_dir() and not path.with_suffix(".py").exists()] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "CHANGELOG"], ids=lambda page: page.stem)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    """Below the checkout, below the package, or beside the page."""
    text = page.read_text()
    named = re.findall(r"`([\w.-]+(?:/[\w.-]+)+\.(?:py|toml|md))`", text)
    named += [
        f"{path}/__main__.py" if (ROOT / path).is_dir() else f"{path}.py"
        for path in (
            name.replace(".", "/")
            for name in re.findall(r"python -m ((?:benchmarks|p2pcrawl(?!\.simulate\b))(?:\.\w+)+)", text)
        )
    ]
    places = (ROOT, ROOT / "p2pcrawl", page.parent)

    assert [name for name in named if not any((place / name).exists() for place in places)] == []


def test_every_example_is_in_their_table() -> None:
    text = (ROOT / "examples" / "README.md").read_text()

    named = re.findall(r"^\| \[(\w+\.py)\]", text, re.MULTILINE)

    assert sorted(named) == sorted(path.name for path in (ROOT / "examples").glob("*.py"))


ATTACKED = [ROOT / "docs" / name for name in ("security.md", "threats.md", "handshake.md")]
TEST = re.compile(r"\[`(test_\w+)`\]\(([^)]+)\)")


def lines_to_attack(page: Path) -> list[str]:
    """The lines of its tables whose last column names tests; each has to."""
    found, within = [], False
    for line in page.read_text().splitlines():
        if not line.startswith("|"):
            within = False
        elif line.endswith("| attacked by |"):
            within = True
        elif within and not line.startswith("|---"):
            found.append(line)
    return found


@pytest.mark.parametrize("page", ATTACKED, ids=lambda page: page.stem)
def test_each_threat_and_each_claim_names_a_test_that_attacks_it(page: Path) -> None:
    lines = lines_to_attack(page)

    assert lines
    assert [line for line in lines if not TEST.search(line.rstrip(" |").rpartition(" | ")[2])] == []


@pytest.mark.parametrize("page", ATTACKED, ids=lambda page: page.stem)
def test_each_test_that_is_named_exists_where_it_is_said_to_be(page: Path) -> None:
    named = TEST.findall(page.read_text())

    def exists(name: str, where: str) -> bool:
        file = (page.parent / where).resolve()
        return file.is_file() and re.search(rf"^ *(async )?def {name}\(", file.read_text(), re.MULTILINE) is not None

    assert [f"{where}::{name}" for name, where in named if not exists(name, where)] == []


def test_each_part_of_the_page_about_security_is_attacked() -> None:
    """What is promised in prose is promised, too: each paragraph of "How" names tests."""
    text = (ROOT / "docs" / "security.md").read_text()
    parts = re.split(r"\n(?=\*\*[A-Z])", text.split("\n## How\n")[1].split("\n## ")[0])[1:]

    assert [part[:40] for part in parts if not TEST.search(part)] == []
