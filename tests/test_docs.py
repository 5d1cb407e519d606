"""The documentation is true: its snippets run, its settings and its links exist."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from p2pcrawl.model.settings import Settings

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
        "from p2pcrawl.spiders.load import parse_target, load_spider, merged_settings\n"
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

    assert sorted(named) == sorted(field.name.upper() for field in fields(Settings))


@pytest.mark.parametrize("name", [f.name for f in fields(Settings) if isinstance(f.default, int | float | bool)])
def test_settings_page_tells_the_default(name: str) -> None:
    text = (ROOT / "docs" / "settings.md").read_text()

    row = next(line for line in text.splitlines() if line.startswith(f"| `{name.upper()}`"))

    assert row.split("|")[2].strip().removesuffix("\\*").strip() == str(getattr(Settings(), name))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text())

    assert [t for t in targets if not (page.parent / t).exists()] == []


def test_every_page_is_reached_from_the_readme() -> None:
    reached, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page not in reached:
            reached.add(page)
            targets = re.findall(r"\]\((?!https?://)([^)#]+\.md)", page.read_text())
            ahead += [(page.parent / target).resolve() for target in targets]

    assert sorted(set(PAGES) - reached) == []


def test_every_example_is_in_their_table() -> None:
    text = (ROOT / "examples" / "README.md").read_text()

    named = re.findall(r"^\| \[(\w+\.py)\]", text, re.MULTILINE)

    assert sorted(named) == sorted(path.name for path in (ROOT / "examples").glob("*.py"))
