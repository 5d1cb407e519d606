"""Elements that a spider's source selects from its pages, read from its selectors without running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cssselect import parse
from cssselect.parser import (
    Attrib,
    Class,
    CombinedSelector,
    Element,
    FunctionalPseudoElement,
    Hash,
    Negation,
    Pseudo,
    SelectorSyntaxError,
)
from cssselect.parser import Function as CssFunction

SELECTS = {"css": "css", "xpath": "xpath", "select": "xpath", "add_css": "css", "add_xpath": "xpath"}
RESTRICTS = {"restrict_css": "css", "restrict_xpaths": "xpath"}
REPEATED_MAX = 8
JOINS = re.compile(
    r"urljoin|\.follow|https?://[^\s\"']*[\"']\s*[+%]|base_url|domain \+|f[\"']https?://[^\"']*{|\.format\("
)


@dataclass
class Wanted:
    """An element that pages are to have, and what is in it."""

    tag: str = "div"
    id: str = ""
    classes: frozenset[str] = frozenset()
    attributes: dict[str, str] = field(default_factory=dict)
    """Those with values that were asked for; "" where any will do."""
    text: str = ""
    times: int = 2
    children: list[Wanted] = field(default_factory=list)

    def child(self, other: Wanted) -> Wanted:
        """Returns the child that is like ``other``, which becomes it if there is none."""
        for known in self.children:
            if (known.tag, known.id, known.classes, known.text) == (other.tag, other.id, other.classes, other.text):
                known.attributes.update(other.attributes)
                known.times = max(known.times, other.times)
                return known
        self.children.append(other)
        return other


@dataclass
class Demands:
    """Elements that a spider wants in its pages, and paths that its rules follow."""

    body: Wanted = field(default_factory=lambda: Wanted("body", times=1))
    link_patterns: list[str] = field(default_factory=list)
    whole_links: bool = True
    """Whether links name their host, for a spider that does not join them with anything."""


def demands_of(*files: Path) -> Demands:
    """Reads the selectors and link rules in these source files. What does not parse has none."""
    found = Demands()
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        found.whole_links = found.whole_links and JOINS.search(text) is None
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]:
            _Reader(found).visit(function)
        for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
            _read_rule(call, found)
    return found


class _Reader(ast.NodeVisitor):
    """Follows selections through the variables of one function."""

    def __init__(self, found: Demands) -> None:
        self._found = found
        self._known: dict[str, Wanted] = {}

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._known[target.id] = self._selected(node.value)

    def visit_For(self, node: ast.For) -> None:
        made = self._selected(node.iter)
        for name in [each for each in ast.walk(node.target) if isinstance(each, ast.Name)]:
            self._known[name.id] = made
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for name in [each for each in ast.walk(node.target) if isinstance(each, ast.Name)]:
            self._known[name.id] = self._selected(node.iter)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        for part in node.generators:
            self.visit(part)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self._selected(node)
        self.generic_visit(node)

    def _selected(self, node: ast.expr) -> Wanted:
        """Returns the element that an expression stands for; the body where that cannot be seen."""
        if isinstance(node, ast.Name):
            return self._known.get(node.id, self._found.body)
        if isinstance(node, ast.Subscript | ast.Attribute):
            return self._selected(node.value)
        if not isinstance(node, ast.Call):
            return self._found.body
        function = node.func
        if isinstance(function, ast.Name):
            return self._selected(node.args[0]) if node.args else self._found.body
        if not isinstance(function, ast.Attribute):
            return self._found.body
        base = self._selected(function.value)
        language = SELECTS.get(function.attr)
        for text in _texts(node.args) if language else ():
            base = select(base, text, language)
        return base


def _read_rule(call: ast.Call, found: Demands) -> None:
    for keyword in call.keywords:
        if keyword.arg in RESTRICTS:
            for text in _texts([keyword.value]):
                select(select(found.body, text, RESTRICTS[keyword.arg]), "a", "css").attributes["href"] = ""
        elif keyword.arg in ("css", "xpath"):
            for text in _texts([keyword.value]):
                select(found.body, text, keyword.arg).attributes.setdefault("href", "")
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if "LinkExtractor" in name:
        allowed = [keyword.value for keyword in call.keywords if keyword.arg == "allow"] or call.args[:1]
        found.link_patterns += _texts(allowed)


def _texts(nodes: list[ast.expr]) -> list[str]:
    return [
        each.value
        for node in nodes
        for each in (node.elts if isinstance(node, ast.Tuple | ast.List) else [node])
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]


def select(base: Wanted, text: str, language: str | None) -> Wanted:
    """Puts what a selector looks for below an element, and returns the innermost. What cannot be read adds nothing."""
    made = base
    for path in _css_paths(text) if language == "css" else _xpath_paths(text):
        made = base
        for step in path:
            made = made.child(step)
    return made


# -- CSS


def _css_paths(text: str) -> Iterator[list[Wanted]]:
    try:
        selectors = parse(text)
    except (SelectorSyntaxError, RecursionError):
        return
    for selector in selectors:
        steps: list[Wanted] = []
        try:
            _read_css(selector.parsed_tree, steps)
        except AttributeError:
            continue
        pseudo = selector.pseudo_element
        if isinstance(pseudo, FunctionalPseudoElement) and pseudo.arguments and steps:
            steps[-1].attributes.setdefault(str(pseudo.arguments[0].value), "")
        yield steps


def _read_css(tree: object, steps: list[Wanted]) -> None:
    if isinstance(tree, CombinedSelector):
        _read_css(tree.selector, steps)
        if tree.combinator in "+~" and steps:
            steps.pop()
        _read_css(tree.subselector, steps)
        return
    if isinstance(tree, Element):
        steps.append(Wanted(tree.element or "div"))
        return
    _read_css(tree.selector, steps)  # type: ignore[attr-defined]
    last = steps[-1]
    if isinstance(tree, Class):
        last.classes |= {tree.class_name}
    elif isinstance(tree, Hash):
        last.id = tree.id
    elif isinstance(tree, Attrib):
        _set(last, tree.attrib, tree.value.value if tree.value else "")
    elif isinstance(tree, CssFunction) and tree.name.startswith("nth"):
        numbers = re.findall(r"\d+", str(tree.arguments))
        last.times = min(REPEATED_MAX, max([last.times, *map(int, numbers)]))
    elif isinstance(tree, Pseudo | Negation):
        pass


# -- XPath, as far as spiders usually go


def _xpath_paths(text: str) -> Iterator[list[Wanted]]:
    for one in re.split(r"\|(?![^\[]*\])", text):
        inner = re.sub(r"^\s*(?:normalize-space|string|concat|count|boolean)\(|\)\s*$", "", one).strip()
        steps: list[Wanted] = []
        for step in re.split(r"/+(?![^\[]*\])", inner.lstrip("(")):
            name = re.split(r"[\[(\]]", step, maxsplit=1)[0].strip(")")
            axis, _, name = name.rpartition("::")
            if name.startswith("@") or axis == "attribute":
                if steps:
                    steps[-1].attributes.setdefault(name.lstrip("@"), "")
            elif name == "..":
                steps = steps[:-1]
            elif re.fullmatch(r"[\w-]+|\*", name) and name not in ("text", "node", "html", "body"):
                if axis.endswith("sibling"):
                    steps = steps[:-1]
                made = Wanted("div" if name == "*" else name)
                _read_predicates(step, made)
                steps.append(made)
        yield steps


def _read_predicates(step: str, made: Wanted) -> None:
    for attribute, value in re.findall(r"@([\w-]+)\s*(?:=|,)\s*[\"']([^\"']*)[\"']", step):
        _set(made, attribute, value)
    for attribute in re.findall(r"\[\s*@([\w-]+)\s*\]", step):
        made.attributes.setdefault(attribute, "")
    for value in re.findall(r"text\(\)\s*(?:=|,)\s*[\"']([^\"']*)[\"']", step):
        made.text = value
    for number in re.findall(r"\[(?:position\(\)\s*[=<>]+\s*)?(\d+)\]", step):
        made.times = min(REPEATED_MAX, max(made.times, int(number)))


def _set(made: Wanted, attribute: str, value: str) -> None:
    if attribute == "class":
        made.classes |= frozenset(value.split())
    elif attribute == "id" and value:
        made.id = value
    else:
        made.attributes[attribute] = value
