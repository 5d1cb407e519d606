"""The laws of words: who arrives by search understands a docstring alone.

A docstring that begins with "What" or "It" has no subject for somebody who has not read what stands before it. So a
function's says what it does, verb first ("Returns ...", "Tells whether ..."), and a class's, a property's or a module's
what it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

FOLDERS = ("p2pcrawl", "simulations", "benchmarks")

NOT_YET = ("p2pcrawl/frontier", "p2pcrawl/master", "p2pcrawl/slave")

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
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not path.relative_to(ROOT).as_posix().startswith(NOT_YET):
                yield path


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
