"""The laws of words: who arrives by search understands a docstring alone, and finds one thing under one name.

A docstring that begins with "What" or "It" has no subject for somebody who has not read what stands before it. So a
function's says what it does, verb first ("Returns ...", "Tells whether ..."), and a class's, a property's or a module's
what it is.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

FOLDERS = ("p2pcrawl", "simulations", "benchmarks")

# Questions, pronouns and half sentences: what no docstring begins with.
PUZZLES = frozenset(
    {
        "what", "whether", "how", "who", "whom", "whose", "where", "when", "why", "which", "whoever", "whatever",
        "this", "that", "these", "those", "it", "its", "they", "them", "their", "we", "us", "our", "you", "he", "she",
        "here", "there", "such", "so", "others", "another", "nobody", "somebody", "someone", "anybody", "nothing",
        "something", "everything", "everybody", "if", "until", "unless", "once", "as", "while", "since", "before",
        "after", "or", "and", "but", "see",
    }
)  # fmt: skip
PHRASES = ("All that", "All who", "The same", "More of ")

# What ends like a verb in the third person, and is none.
NO_VERBS = frozenset({"addresses", "hosts", "items", "nodes", "pages", "rows", "urls", "words"})

FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def docstrings(tree: ast.Module) -> Iterator[tuple[ast.AST, int, str, str]]:
    """Yields what has a docstring in a module, with its line, its name and the docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | FUNCTION):
            text = ast.get_docstring(node)
            if text:
                yield node, getattr(node, "lineno", 1), getattr(node, "name", "the module"), text


def is_verb(word: str) -> bool:
    return word.endswith("s") and not word.endswith("ss") and word not in NO_VERBS


def acts(node: ast.AST) -> bool:
    """Tells whether a docstring is that of a function that does something: no property, and no verb of the command
    line, whose docstring is its help.
    """
    if not isinstance(node, FUNCTION):
        return False
    decorators = [ast.unparse(each).partition("(")[0].rpartition(".")[2] for each in node.decorator_list]
    return not {"property", "cached_property", "command", "group"}.intersection(decorators)


def flaws(source: str) -> Iterator[str]:
    """Yields the docstrings of a module that say too little to somebody who reads them alone."""
    for node, line, name, text in docstrings(ast.parse(source)):
        first = text.split()[0].strip(".,:;").lower()
        puzzles = first in PUZZLES or text.startswith(PHRASES)
        arguments_only = name == "__init__" and text.startswith("``")
        if puzzles or (acts(node) and not is_verb(first) and not arguments_only):
            yield f"{line}: {name}: {text.splitlines()[0]}"


def modules() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted((ROOT / folder).rglob("*.py"))


def test_docstring_can_be_read_alone() -> None:
    found = [f"{path.relative_to(ROOT)}:{flaw}" for path in modules() for flaw in flaws(path.read_text())]

    assert not found, "say what a function does (verb first), or what a class or module is:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        '"""What it is."""',
        'class A:\n    """See the module."""',
        'class A:\n    """The same, but smaller."""',
        'class A:\n    @property\n    def f(self):\n        """Whether it is so."""',
        'class A:\n    async def f(self):\n        """It is over."""',
        'def f():\n    """The page of a number."""',
        'def f():\n    """Return the page."""',
    ],
)
def test_flaw_is_noticed(source: str) -> None:
    assert len(list(flaws(source))) == 1


def test_plain_docstring_has_no_flaw() -> None:
    source = (
        '"""Words of a page."""\nclass A:\n    """One page."""\n    def f(self):\n        """Tells what it is."""\n'
    )

    assert not list(flaws(source))


# -- one name, one thing --------------------------------------------------------------------------

GLOSSARY = ROOT / "docs" / "glossary.md"

# Places of the same name that mean the same: where a program begins.
NAMESAKES = frozenset({"main"})

# Its private classes are the forms on the wire of things of the model, and are called as these.
WIRE_FORMS = "p2pcrawl/wire/messages/gossip.py"


def names_of(source: str, *, private: bool = True) -> Iterator[str]:
    """Yields the names of a module's classes, private ones without their underscore, and of its public functions."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and (private or not node.name.startswith("_")):
            yield node.name.lstrip("_")
    yield from (node.name for node in tree.body if isinstance(node, FUNCTION) and not node.name.startswith("_"))


def namesakes(sources: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yields the names that stand for several things, with the files where they do."""
    places: dict[str, list[str]] = defaultdict(list)
    for place, source in sources:
        for name in names_of(source, private=place != WIRE_FORMS):
            places[name].append(place)
    for name, found in sorted(places.items()):
        if len(found) > 1 and name not in NAMESAKES:
            yield f"{name}: {', '.join(found)}"


def product() -> list[tuple[str, str]]:
    """Reads the modules of p2pcrawl: their paths and sources."""
    return [(path.relative_to(ROOT).as_posix(), path.read_text()) for path in sorted((ROOT / "p2pcrawl").rglob("*.py"))]


def test_class_or_function_has_a_name_of_its_own() -> None:
    assert not list(namesakes(product())), "who searches for one finds the other: say what each is"


def test_namesake_is_noticed() -> None:
    sources = [("a.py", "class Turn: ...\ndef main(): ..."), ("b.py", "class _Turn: ...\ndef main(): ...")]

    assert list(namesakes(sources)) == ["Turn: a.py, b.py"]


def test_words_of_the_glossary_are_in_the_code() -> None:
    known = {name for _, source in product() for name in names_of(source)}
    rows = re.findall(r"^\| (?!word|---)([^|]+) \|[^|]+\|([^|]*)\|$", GLOSSARY.read_text(), re.MULTILINE)

    missing = [(word, name) for word, names in rows for name in re.findall(r"`(\w+)`", names) if name not in known]

    assert len(rows) > 40
    assert not missing
