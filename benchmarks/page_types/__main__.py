"""Measures how many real pages are taken for what they are: ``python -m benchmarks.page_types --wcxb FOLDER ...``.

Each option is the work tree of a public set (see ``labelled_sets``). ``--fit`` cross-validates the weights and prints
new ones instead; WCXB's test set is never in the fit.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.page_types.fitting import WeighedPage, crossed, fitted, interval, weighed
from benchmarks.page_types.labelled_sets import (
    LabelledPage,
    chinese_pages,
    news_pages,
    pager_pages,
    wcxb_pages,
)
from p2pcrawl.model.page_type import PageType
from p2pcrawl.spiders.page_types.evidences import balance_of
from tests.sites.typed_pages import typed_pages


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page_types", description=__doc__)
    parser.add_argument("--wcxb", type=Path, required=True)
    parser.add_argument("--news", type=Path, help="of the benchmark of articles")
    parser.add_argument("--pager", type=Path, help="of autopager")
    parser.add_argument("--chinese", type=Path, help="of GerapyAutoExtractor")
    parser.add_argument("--fit", action="store_true", help="cross-validate, and print weights that are fitted anew")
    parser.add_argument("--mistakes", action="store_true", help="list the pages of the development set that are wrong")
    args = parser.parse_args()
    developed = _all(wcxb_pages(args.wcxb, "dev"))
    beside = {
        "tests": _all(_pages_of_tests()),
        "news": _all(news_pages(args.news) if args.news else ()),
        "pager": _all(pager_pages(args.pager) if args.pager else ()),
        "chinese": _all(chinese_pages(args.chinese) if args.chinese else ()),
    }
    if args.fit:
        _fit(developed, [page for pages in beside.values() for page in pages])
        return 0
    _tell("WCXB, development set", developed)
    _tell("WCXB, test set", _all(wcxb_pages(args.wcxb, "test")))
    for name, pages in beside.items():
        if pages:
            _tell(name, pages)
    if args.mistakes:
        for each in developed:
            found = each.type_by(balance_of)
            if found is not each.page.type:
                print(f"{each.page.name} {each.page.kind} -> {found} {each.page.url}")
    return 0


def _all(pages: Iterable[LabelledPage]) -> list[WeighedPage]:
    return [weighed(page) for page in pages]


def _pages_of_tests() -> Iterable[LabelledPage]:
    for page in typed_pages():
        yield LabelledPage(page.name, page.url, page.type, PageType(page.type), page.html)


def _tell(name: str, pages: Sequence[WeighedPage]) -> None:
    """Prints how many pages are right, of each kind, and how many articles are surely lost."""
    table = Counter((each.page.kind, each.type_by(balance_of)) for each in pages)
    right = sum(each.type_by(balance_of) is each.page.type for each in pages)
    nameless = sum(each.type_by(balance_of, nameless=True) is each.page.type for each in pages)
    least, most = interval(right, len(pages))
    lost = Counter(each.page.type for each in pages if not each.may_be_article(balance_of))
    print(f"\n{name}: {right} of {len(pages)}, {right / len(pages):.1%} ({least:.1%} to {most:.1%})")
    print(
        f"  at an address that says nothing: {nameless / len(pages):.1%}; `--extract article` leaves out "
        f"{lost[PageType.ARTICLE]} articles and {lost[PageType.NAVIGATION]} lists"
    )
    for kind in sorted({kind for kind, _ in table}):
        print(f"  {kind:14}", "  ".join(f"{each} {table[kind, each]:4}" for each in PageType))


def _fit(developed: Sequence[WeighedPage], beside: Sequence[WeighedPage]) -> None:
    began = time.process_time()
    kinds: Counter[str] = Counter()
    kinds_right: Counter[str] = Counter()
    for page, fit in crossed(developed, beside):
        kinds[page.page.kind] += 1
        kinds_right[page.page.kind] += page.type_by(fit.balance_of) is page.page.type
    right, whole = kinds_right.total(), kinds.total()
    least, most = interval(right, whole)
    print(f"cross-validated: {right} of {whole}, {right / whole:.1%} ({least:.1%} to {most:.1%})")
    print("  " + ", ".join(f"{kind} {kinds_right[kind]} of {count}" for kind, count in kinds.items()))
    fit = fitted([*developed, *beside])
    print(f"  {time.process_time() - began:.0f} s of CPU\n")
    for name, weight in sorted(fit.weights.items(), key=lambda each: -each[1]):
        print(f'    "{name}": {weight:.2f},')
    print(f"BALANCE: Final = {fit.balance:.2f}")


if __name__ == "__main__":
    raise SystemExit(main())
