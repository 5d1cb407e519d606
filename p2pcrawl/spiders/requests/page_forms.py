"""Forms of a page, as a browser would fill them in and send them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from p2pcrawl.spiders.page.charsets import encoding_named
from p2pcrawl.spiders.page.limit import limited
from p2pcrawl.spiders.page.response import Response

_SPACE = " \t\n\r\f"
_BUTTONS = frozenset({"submit", "image"})
_CHOICES = frozenset({"checkbox", "radio"})
_FIELDS = frozenset({"input", "select", "textarea", "button"})

Element = Any
Pair = tuple[str, Any]


class PageForm:
    """One form: where it leads, and what is in its fields."""

    __slots__ = ("_element", "_page", "encoding")

    def __init__(self, page: Response, element: Element) -> None:
        self._page = page
        self._element = element
        wanted = (element.get("accept-charset") or "").replace(",", " ").split()
        self.encoding = next((name for each in wanted if (name := encoding_named(each))), page.encoding)
        """The encoding of its fields: that of the page, unless the form names one."""

    def url(self, given: str | None, button: Element | None) -> str:
        """Returns where the form leads: to the URL that is given, or where its button or the form says."""
        action = given
        if action is None:
            action = _own(button, "formaction") or self._element.get("action") or self._page.url
        return self._page.urljoin(action.strip(_SPACE))

    def method(self, button: Element | None) -> str:
        """Returns the method as the button or the form has it."""
        return _own(button, "formmethod") or self._element.get("method") or "GET"

    @limited
    def clicked(self, clickdata: Mapping[str, str | int] | None) -> Element | None:
        """Returns the button that is clicked; None where there is none. Raises ValueError when ``clickdata`` fit none,
        or several.
        """
        if not clickdata:
            return next((each for each in self._controls() if _is_button(each)), None)
        wanted = dict(clickdata)
        number = wanted.pop("nr", None)
        controls = list(self._controls())
        if number is not None and -len(controls) <= int(number) < len(controls):
            return controls[int(number)]
        fitting = [
            each
            for each in self._element.iter()
            if isinstance(each.tag, str) and all(each.get(name) == str(value) for name, value in wanted.items())
        ]
        fitting = fitting if wanted else []
        if len(fitting) != 1:
            which = f"{len(fitting)} elements of the form have" if fitting else "no element of the form has"
            raise ValueError(f"{which} the attributes of clickdata {dict(clickdata)!r} on {self._page.url}")
        return fitting[0]

    @limited
    def fields(self, formdata: list[Pair], button: Element | None) -> list[Pair]:
        """Returns the fields to send: those of the form that ``formdata`` do not name, the button, and these."""
        named = {name for name, _ in formdata}
        sent: list[Pair] = []
        for control in self._controls():
            name = control.get("name")
            if name and name not in named and _counts(control):
                sent.append((name, _value_of(control)))
        if button is not None and button.get("name") and button.get("name") not in named:
            sent.append((button.get("name"), button.get("value") or ""))
        sent.extend((name, value) for name, value in formdata if value is not None)
        return [(name, value) for name, value in sent if value is not None]

    def _controls(self) -> Iterator[Element]:
        """Yields the controls of the form in the order of the page: those in it, and those elsewhere that name it."""
        own = self._element.get("id")
        if own and self._element.getroottree().getroot().xpath("boolean(//*[@form=$own])", own=own):
            everything = self._element.getroottree().getroot().iter(*_FIELDS)
            inside = set(self._element.iter(*_FIELDS))
            for each in everything:
                named = each.get("form")
                if named == own or (named is None and each in inside):
                    yield each
            return
        for each in self._element.iter(*_FIELDS):
            if each.get("form") in (None, own):
                yield each


def chosen_form(
    page: Response, *, name: str | None, id_: str | None, number: int, xpath: str | None, css: str | None
) -> PageForm:
    """Returns the form of this name; else of this id; else that which the selected element is or is in; else the one
    of this number.

    Raises ValueError for a page without forms and a selector that finds none, IndexError for a number without a form.
    """
    forms = page.xpath("//form")
    if not forms:
        raise ValueError(f"there is no form on {page.url}")
    for attribute, wanted in (("name", name), ("id", id_)):
        if wanted is not None:
            found = next((each.root for each in forms if each.root.get(attribute) == wanted), None)
            if found is not None:
                return PageForm(page, found)
    if xpath is not None or css is not None:
        selected = page.xpath(xpath) if xpath is not None else page.css(css or "")
        element = selected[0].root if selected else None
        while element is not None and getattr(element, "tag", None) != "form":
            element = element.getparent() if hasattr(element, "getparent") else None
        if element is None:
            raise ValueError(f"{xpath or css} selects no form, and nothing in one, on {page.url}")
        return PageForm(page, element)
    try:
        return PageForm(page, forms[number].root)
    except IndexError:
        raise IndexError(f"there is no form of number {number} on {page.url}") from None


def _own(element: Element | None, attribute: str) -> str:
    return (element.get(attribute) or "") if element is not None else ""


def _type_of(control: Element) -> str:
    return (control.get("type") or "").strip(_SPACE).lower()


def _is_button(control: Element) -> bool:
    if control.get("disabled") is not None:
        return False
    kind = _type_of(control)
    return kind in _BUTTONS if control.tag == "input" else control.tag == "button" and kind in ("", "submit")


def _counts(control: Element) -> bool:
    """Tells whether a control's value is sent without a click on it."""
    if control.get("disabled") is not None or control.tag == "button":
        return False
    kind = _type_of(control)
    if control.tag != "input":
        return True
    return kind not in ("submit", "image", "reset", "button") and (
        kind not in _CHOICES or control.get("checked") is not None
    )


def _value_of(control: Element) -> Any:
    """Returns the value of a control: text, or a list; None for nothing to send."""
    if control.tag == "textarea":
        text = "".join(control.itertext())
        return text.removeprefix("\r\n") if text.startswith("\r\n") else text.removeprefix("\n")
    if control.tag == "select":
        return _chosen(control)
    return control.get("value") or ("on" if _type_of(control) in _CHOICES and control.get("value") is None else "")


def _chosen(select: Element) -> Any:
    options = list(select.iter("option"))
    chosen = [_option_value(each) for each in options if each.get("selected") is not None]
    if select.get("multiple") is not None:
        return chosen or None
    if chosen:
        return chosen[-1]
    enabled = [each for each in options if each.get("disabled") is None]
    return _option_value(enabled[0]) if enabled else None


def _option_value(option: Element) -> str:
    value = option.get("value")
    return str(value) if value is not None else " ".join("".join(option.itertext()).split())
