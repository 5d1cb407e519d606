"""Labelled pages: articles, navigation and what is neither, in the styles in which sites are made.

All of them are written here. Twelve languages have an article, a front page, a page of a section and a tag's each; the
rest are the cases that are hard to tell, each under its own name.
"""

# ruff: noqa: E501  # Markup reads better in one line.

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.sites.typed_words import ALL, CHINESE, ENGLISH, FRENCH, GERMAN, JAPANESE, SPANISH, Words

ARTICLE, NAVIGATION, OTHER = "article", "navigation", "other"


class TypedPage(NamedTuple):
    """A page, and what it is."""

    name: str
    url: str
    type: str
    html: str


def typed_pages() -> list[TypedPage]:
    """Returns all of them."""
    return [*_in_all_languages(), *_hard_articles(), *_hard_lists(), *_shops(), *_manuals_and_forums(), *_neither()]


# -- parts ----------------------------------------------------------------------------------------------


def _page(words: Words, title: str, body: str, head: str = "", attributes: str = "") -> str:
    menu = "".join(f'<li><a href="/m{number}">{name}</a></li>' for number, name in enumerate(words.menu))
    return (
        f'<!DOCTYPE html><html lang="{words.code}"><head><meta charset="utf-8"><title>{title}</title>{head}</head>'
        f"<body {attributes}><header><ul class='nav'>{menu}</ul></header>{body}"
        f"<footer><ul>{menu}</ul><p>© 2026</p></footer></body></html>"
    )


def _paragraphs(words: Words, count: int, sentences: int = 3) -> str:
    return "".join(f"<p>{words.text(sentences, number)}</p>" for number in range(count))


def _slug(number: int) -> str:
    return f"/2026/11/{number % 28 + 1:02}/ferries-and-other-news-{1000 + number}"


def _teasers(words: Words, count: int, sentences: int = 1, style: int = 0) -> str:
    """Writes teasers in one of the ways in which sites do."""
    made = []
    for number in range(count):
        title, text, href = words.title(number), words.text(sentences, number), _slug(number)
        made.append(
            (
                f'<article><h2><a href="{href}">{title}</a></h2><p>{text}</p></article>',
                f'<div class="card"><a href="{href}"><img src="{number}.jpg"><h3>{title}</h3><p>{text}</p></a></div>',
                f'<li><a href="{href}">{title}</a> <span class="date">{number % 28 + 1}.11.2026</span></li>',
                f'<div class="teaser"><h3>{title}</h3><p>{text} … <a href="{href}">{words.more}</a></p></div>',
                f'<tr><td>{number % 28 + 1}.11.</td><td><a href="{href}">{title}</a></td></tr>',
            )[style]
        )
    whole = "".join(made)
    return {2: f"<ul>{whole}</ul>", 4: f"<table>{whole}</table>"}.get(style, f'<div class="list">{whole}</div>')


def _related(words: Words, count: int) -> str:
    links = "".join(f'<li><a href="{_slug(number)}">{words.title(number)}</a></li>' for number in range(count))
    return f'<aside class="related"><h3>+</h3><ul>{links}</ul></aside>'


_NEWS = '<script type="application/ld+json">{"@type": "NewsArticle", "headline": "x"}</script>'
_OG_ARTICLE = '<meta property="og:type" content="article">'
_OG_SITE = '<meta property="og:type" content="website">'


def _in_all_languages() -> Iterator[TypedPage]:
    heads = ("", _OG_ARTICLE, _NEWS, '<meta name="author" content="A. B.">')
    for number, words in enumerate(ALL):
        host, title = f"https://paper{number}.example", words.title(0)
        text = f"<h1>{title}</h1>{_paragraphs(words, 5 + number % 4)}"
        wrapped = (f"<main><article>{text}</article></main>", f'<div id="content"><div>{text}</div></div>')[number % 2]
        yield TypedPage(
            f"{words.code}: article",
            host
            + (_slug(7), "/artikel/4711.html", "/news/northern-islands-get-a-second-ferry", "/?p=4711")[number % 4],
            ARTICLE,
            _page(words, title, wrapped + _related(words, number % 8), heads[number % 4]),
        )
        front = _teasers(words, 18, 1 + number % 2, number % 5)
        yield TypedPage(f"{words.code}: front page", host + "/", NAVIGATION, _page(words, "Paper", front, _OG_SITE))
        section = f"<h1>{words.menu[0]}</h1>{_teasers(words, 14, 1, (number + 2) % 5)}"
        yield TypedPage(
            f"{words.code}: section",
            host + ("/news", "/section/local", "/rubrik/lokales/", "/category/town?page=2")[number % 4],
            NAVIGATION,
            _page(words, words.menu[0], section),
        )
        tags = f"<h1>#{words.menu[2]}</h1>{_teasers(words, 9, 1, (number + 1) % 5)}<div><a href='?page=2'>2</a></div>"
        yield TypedPage(
            f"{words.code}: tag", f"{host}/tag/weather", NAVIGATION, _page(words, "#", tags, "", "class='archive tag'")
        )


def _hard_articles() -> Iterator[TypedPage]:
    site = "https://hard.example"
    words = ENGLISH
    yield TypedPage(
        "short article",
        f"{site}/2026/11/03/harbour-closed-on-monday",
        ARTICLE,
        _page(words, "Harbour closed", f"<h1>Harbour closed</h1><p>{words.text(3)}</p>", _OG_ARTICLE),
    )
    yield TypedPage(
        "short article that states nothing",
        f"{site}/stories/harbour-closed-on-monday-2291.html",
        ARTICLE,
        _page(words, "Harbour closed", f"<h1>Harbour closed</h1><p>{words.text(5)}</p><p>{words.text(2, 1)}</p>"),
    )
    yield TypedPage(
        "article with very many related links",
        f"{site}/news/northern-islands-get-a-second-ferry",
        ARTICLE,
        _page(
            words, "Ferry", f"<h1>Ferry</h1>{_paragraphs(words, 8)}{_related(words, 40)}{_teasers(words, 12)}", _NEWS
        ),
    )
    live = "".join(
        f"<div class='update'><time>{hour}:00</time><h3>Update at {hour}</h3><p>{words.text(2, hour)}</p></div>"
        for hour in range(20, 6, -1)
    )
    yield TypedPage(
        "live blog",
        f"{site}/live/2026/nov/03/storm-live-updates",
        ARTICLE,
        _page(
            words,
            "Storm: live",
            f"<h1>Storm: live</h1>{live}",
            '<script type="application/ld+json">{"@type": "LiveBlogPosting"}</script>',
        ),
    )
    gallery = "".join(
        f"<figure><img src='{n}.jpg'><figcaption>{words.text(1, n)}</figcaption></figure>" for n in range(14)
    )
    yield TypedPage(
        "gallery",
        f"{site}/pictures/storm-over-the-northern-islands",
        ARTICLE,
        _page(words, "Pictures", f"<h1>In pictures</h1><p>{words.text(2)}</p>{gallery}", _OG_ARTICLE),
    )
    old = "<br><br>".join(words.text(4, number) for number in range(7))
    yield TypedPage(
        "old page in a table, with line breaks for paragraphs",
        "http://old.example/story.asp?id=8812",
        ARTICLE,
        f"<html><title>Story</title><table><tr><td width=120><a href=a.asp>A</a><br><a href=b.asp>B</a></td><td>"
        f"<font size=2><b>Ferry</b><br>{old}</font></td></tr></table></html>",
    )
    yield TypedPage(
        "paragraphs that are boxes, each in a box",
        f"{site}/a/8f3b21c9d0",
        ARTICLE,
        _page(
            words, "x", "".join(f"<div class='b'><div>{words.text(3, n)}</div></div>" for n in range(9)), _OG_ARTICLE
        ),
    )
    faq = "".join(f"<h3>Question {n}?</h3><p>{words.text(2, n)}</p>" for n in range(9))
    yield TypedPage(
        "questions and answers", f"{site}/help/ferry-questions", ARTICLE, _page(words, "FAQ", f"<h1>FAQ</h1>{faq}")
    )
    recipe = "".join(f"<li>{words.text(1, n)}</li>" for n in range(10))
    yield TypedPage(
        "recipe",
        f"{site}/recipes/fish-soup-of-the-north",
        ARTICLE,
        _page(
            words,
            "Fish soup",
            f"<h1>Fish soup</h1><p>{words.text(3)}</p><ol>{recipe}</ol>{_teasers(words, 6, 1, 1)}",
            '<script type="application/ld+json">{"@graph": [{"@type": "Recipe", "name": "Fish soup"}]}</script>',
        ),
    )
    linked = "".join(
        f"<p>{words.text(2, n)} As <a href='{_slug(n)}'>we wrote</a>, <a href='/w/x'>the council</a> {words.text(1)}</p>"
        for n in range(8)
    )
    yield TypedPage(
        "text full of links, as in an encyclopaedia",
        f"{site}/wiki/Northern_Islands",
        ARTICLE,
        _page(words, "Northern Islands", f"<h1>Northern Islands</h1>{linked}"),
    )
    yield TypedPage(
        "page in a consent's shadow",
        f"{site}/2026/10/30/a-bakery-opens-where-the-bank-used-to-be",
        ARTICLE,
        _page(
            words,
            "Bakery",
            f"<div class='cookie-banner'>{_paragraphs(words, 3)}</div><h1>Bakery</h1>{_paragraphs(words, 4)}",
        ),
    )
    comments = "".join(
        f"<div class='comment'><b>guest{n}</b><p>{words.text(1 + n % 3, n)}</p></div>" for n in range(25)
    )
    yield TypedPage(
        "post with many comments",
        f"{site}/blog/why-the-lighthouse-stays-dark",
        ARTICLE,
        _page(
            words,
            "Lighthouse",
            f"<article><h1>Lighthouse</h1>{_paragraphs(words, 4)}</article><section>{comments}</section>",
        ),
    )
    for other in (CHINESE, JAPANESE):
        yield TypedPage(
            f"{other.code}: text without spaces, in one block",
            f"https://p.example/{other.code}/detail_20261103.html",
            ARTICLE,
            _page(other, other.title(0), f"<h1>{other.title(0)}</h1><div>{other.text(16)}</div>{_related(other, 8)}"),
        )
    yield TypedPage(
        "press release",
        f"{site}/press/releases/2026-11-03-second-ferry.html",
        ARTICLE,
        _page(GERMAN, "Presse", f"<h1>Zweite Fähre</h1><p>3. November 2026</p>{_paragraphs(GERMAN, 4)}"),
    )
    yield TypedPage(
        "interview",
        f"{site}/entretien/le-capitaine-du-bac-raconte",
        ARTICLE,
        _page(
            FRENCH,
            "Entretien",
            "<h1>Entretien</h1>"
            + "".join(f"<p><b>— {FRENCH.text(1, n)}</b></p><p>{FRENCH.text(3, n)}</p>" for n in range(6)),
        ),
    )
    yield TypedPage(
        "job offer",
        f"{site}/empleo/maestra-de-primaria-4821",
        ARTICLE,
        _page(
            SPANISH,
            "Empleo",
            f"<h1>Maestra</h1>{_paragraphs(SPANISH, 3)}<ul>"
            + "".join(f"<li>{SPANISH.text(1, n)}</li>" for n in range(6))
            + "</ul>",
        ),
    )


def _hard_lists() -> Iterator[TypedPage]:
    site, words = "https://lists.example", ENGLISH
    yield TypedPage(
        "front page with long teasers",
        f"{site}/",
        NAVIGATION,
        _page(words, "Lists", _teasers(words, 16, 4, 0), _OG_SITE),
    )
    posts = "".join(
        f"<article class='post'><h2><a href='{_slug(n)}'>{words.title(n)}</a></h2>{_paragraphs(words, 3)}</article>"
        for n in range(8)
    )
    yield TypedPage(
        "blog with whole posts on its front page",
        "https://blog.example/",
        NAVIGATION,
        _page(words, "A blog", posts, "", "class='home blog'"),
    )
    yield TypedPage(
        "second page of a blog",
        "https://blog.example/page/2/",
        NAVIGATION,
        _page(words, "A blog", posts + "<a rel=prev href='/'>1</a>", "", "class='blog paged'"),
    )
    yield TypedPage(
        "archive of a month",
        f"{site}/2026/11/",
        NAVIGATION,
        _page(words, "November 2026", f"<h1>November 2026</h1>{_teasers(words, 25, 1, 2)}", "", "class='archive date'"),
    )
    yield TypedPage(
        "pages of an author",
        f"{site}/author/jane",
        NAVIGATION,
        _page(words, "Jane", f"<h1>Jane</h1><p>{words.text(2)}</p>{_teasers(words, 12, 1, 0)}"),
    )
    yield TypedPage(
        "results of a search",
        f"{site}/search?q=ferry&page=2",
        NAVIGATION,
        _page(
            words,
            "Search",
            f"<h1>214 results</h1>{_teasers(words, 10, 2, 3)}<a href='?q=ferry&page=1'>1</a> <a href='?q=ferry&page=3'>3</a>",
        ),
    )
    yield TypedPage(
        "no result of a search",
        f"{site}/search?q=zzz",
        OTHER,
        _page(words, "Search", "<h1>0 results</h1><p>Nothing was found.</p><form><input name=q></form>"),
    )
    yield TypedPage(
        "videos",
        f"{site}/videos",
        NAVIGATION,
        _page(words, "Videos", "<h1>Videos</h1>" + _teasers(words, 20, 1, 1), _OG_SITE),
    )
    yield TypedPage(
        "map of the site",
        f"{site}/sitemap",
        NAVIGATION,
        _page(words, "Sitemap", "<h1>Sitemap</h1>" + _teasers(words, 60, 1, 2)),
    )
    yield TypedPage(
        "list that states itself",
        f"{site}/topics/harbour",
        NAVIGATION,
        _page(
            words,
            "Harbour",
            f"<h1>Harbour</h1><p>{words.text(3)}</p>{_teasers(words, 10, 1, 1)}",
            '<script type="application/ld+json">{"@type": "CollectionPage", "mainEntity": {"@type": "ItemList"}}</script>',
        ),
    )
    yield TypedPage(
        "list of links and nothing else",
        "http://old.example/links.html",
        NAVIGATION,
        "<html><title>Links</title>"
        + "".join(f"<a href='http://s{n}.example/'>{words.title(n)}</a><br>" for n in range(30))
        + "</html>",
    )
    yield TypedPage(
        "front page with a leading story",
        "https://paper.example/",
        NAVIGATION,
        _page(
            words,
            "Paper",
            f"<section><h1><a href='{_slug(3)}'>{words.title(2)}</a></h1><p>{words.text(4)}</p></section>{_teasers(words, 20, 1, 1)}",
            _OG_SITE,
        ),
    )
    yield TypedPage(
        "newest of everything, as a table",
        f"{site}/latest",
        NAVIGATION,
        _page(GERMAN, "Neu", "<h1>Neu</h1>" + _teasers(GERMAN, 30, 1, 4)),
    )
    yield TypedPage(
        "podcast",
        f"{site}/shows/harbour-talk",
        NAVIGATION,
        _page(words, "Harbour talk", f"<h1>Harbour talk</h1><p>{words.text(2)}</p>{_teasers(words, 15, 2, 0)}"),
    )
    yield TypedPage(
        "events", f"{site}/events", NAVIGATION, _page(FRENCH, "Agenda", "<h1>Agenda</h1>" + _teasers(FRENCH, 15, 1, 3))
    )


def _goods(count: int) -> str:
    return "".join(
        f"<div class='product'><a href='/p/boat-model-{n}'><img src='{n}.jpg'>Model boat number {n} with sails</a>"
        f"<span class='price'>€ {19 + n},90</span><button>Add to cart</button></div>"
        for n in range(count)
    )


def _shops() -> Iterator[TypedPage]:
    shop, words = "https://shop.example", ENGLISH
    yield TypedPage(
        "category of a shop",
        f"{shop}/category/model-boats",
        NAVIGATION,
        _page(words, "Model boats", f"<h1>Model boats</h1>{_goods(24)}"),
    )
    yield TypedPage(
        "category of a shop with a text below",
        f"{shop}/collections/boats",
        NAVIGATION,
        _page(words, "Boats", f"<h1>Boats</h1>{_goods(30)}<div class='seo'>{_paragraphs(words, 3)}</div>"),
    )
    yield TypedPage("front page of a shop", f"{shop}/", NAVIGATION, _page(words, "Boat shop", _goods(12), _OG_SITE))
    yield TypedPage(
        "brand in a shop",
        f"{shop}/brands/northern?sort=price",
        NAVIGATION,
        _page(GERMAN, "Nordland", f"<h1>Nordland</h1><p>{GERMAN.text(2)}</p>{_goods(16)}"),
    )
    about = "".join(f"<tr><td>Property {n}</td><td>Value {n}</td></tr>" for n in range(8))
    yield TypedPage(
        "product",
        f"{shop}/products/northern-ferry-model-1-to-87",
        ARTICLE,
        _page(
            words,
            "Ferry model",
            f"<h1>Ferry model</h1><span>€ 89,90</span>{_paragraphs(words, 3)}<table>{about}</table>",
            '<script type="application/ld+json">{"@type": "Product", "name": "Ferry model"}</script>',
        ),
    )
    yield TypedPage(
        "product with others beside it",
        f"{shop}/p/ferry-model-88213.html",
        ARTICLE,
        _page(
            words,
            "Ferry model",
            f"<h1>Ferry model</h1><span>€ 89,90</span>{_paragraphs(words, 2)}<h3>Others</h3>{_goods(6)}",
            '<meta property="og:type" content="product"><script type="application/ld+json">{"@type": "Product"}</script>',
        ),
    )
    yield TypedPage(
        "product that states nothing",
        f"{shop}/item/88214-harbour-crane-kit",
        ARTICLE,
        _page(words, "Crane", f"<h1>Harbour crane kit</h1><span>€ 49,90</span>{_paragraphs(words, 4)}"),
    )
    yield TypedPage(
        "product in microdata",
        f"{shop}/dp/B00X4711",
        ARTICLE,
        _page(
            words,
            "Buoy",
            f"<div itemscope itemtype='https://schema.org/Product'><h1 itemprop='name'>Buoy</h1><p itemprop='description'>{words.text(4)}</p></div>",
        ),
    )
    yield TypedPage("cart", f"{shop}/cart", OTHER, _page(words, "Cart", "<h1>Your cart</h1><p>It is empty.</p>"))


def _manuals_and_forums() -> Iterator[TypedPage]:
    docs, forum, words = "https://docs.example", "https://forum.example", ENGLISH
    contents = "".join(
        f"<li><a href='guide/{n}.html'>Chapter {n}: {words.title(n)}</a><ul>"
        + "".join(f"<li><a href='guide/{n}.html#s{m}'>Section {m} of it</a></li>" for m in range(4))
        + "</ul></li>"
        for n in range(12)
    )
    yield TypedPage(
        "contents of a manual", f"{docs}/", NAVIGATION, _page(words, "Manual", f"<h1>Manual</h1><ul>{contents}</ul>")
    )
    yield TypedPage(
        "index of terms",
        f"{docs}/genindex.html",
        NAVIGATION,
        _page(
            words,
            "Index",
            "<h1>Index</h1><ul>"
            + "".join(
                f"<li><a href='ref.html#f{n}'>function_number_{n}() (in module ferry)</a></li>" for n in range(80)
            )
            + "</ul>",
        ),
    )
    code = "".join(
        f"<h2>function_{n}</h2><pre>function_{n}(boat, *, speed=1)</pre><p>{words.text(2, n)}</p>" for n in range(7)
    )
    yield TypedPage(
        "reference with code",
        f"{docs}/reference/ferry.html",
        ARTICLE,
        _page(words, "ferry", f"<main><h1>ferry</h1>{code}</main>"),
    )
    side = f"<nav class='sidebar'><ul>{contents}</ul></nav>"
    yield TypedPage(
        "chapter beside the contents",
        f"{docs}/guide/getting-started.html",
        ARTICLE,
        _page(words, "Start", f"{side}<main><h1>Start</h1>{_paragraphs(words, 6)}<pre>pip install ferry</pre></main>"),
    )
    threads = "".join(
        f"<tr><td><a href='/t/{words.title(n).lower().replace(' ', '-')}/{4000 + n}'>{words.title(n)}</a></td>"
        f"<td>{n}</td><td><a href='/u/{n}'>user{n}</a></td></tr>"
        for n in range(30)
    )
    yield TypedPage(
        "list of a forum",
        f"{forum}/forumdisplay.php?f=12",
        NAVIGATION,
        _page(words, "Boats", f"<h1>Boats</h1><table>{threads}</table>"),
    )
    yield TypedPage(
        "front of a forum",
        f"{forum}/",
        NAVIGATION,
        _page(
            words,
            "Forum",
            "<h1>Forum</h1>"
            + "".join(
                f"<div class='forum'><h3><a href='/f/{n}'>Board for {words.title(n)}</a></h3><p>{words.text(1, n)}</p><a href='/t/{n}'>Last: {words.title(n + 1)}</a></div>"
                for n in range(10)
            ),
        ),
    )
    answers = "".join(
        f"<div class='post'><a href='/u/{n}'>user{n}</a><div class='body'>{words.text(2 + n % 4, n)}</div></div>"
        for n in range(12)
    )
    yield TypedPage(
        "thread",
        f"{forum}/t/when-does-the-ferry-leave/4711",
        ARTICLE,
        _page(words, "When does the ferry leave?", f"<h1>When does the ferry leave?</h1>{answers}"),
    )
    yield TypedPage(
        "old thread",
        f"{forum}/viewtopic.php?t=4712",
        ARTICLE,
        _page(
            GERMAN,
            "Thema",
            "<h1>Thema</h1><table>"
            + "".join(
                f"<tr><td><a href='/u{n}'>gast{n}</a></td><td>{GERMAN.text(3, n)}<br>{GERMAN.text(2, n)}</td></tr>"
                for n in range(8)
            )
            + "</table>",
        ),
    )
    yield TypedPage(
        "question with answers",
        f"{forum}/questions/118273/how-do-i-get-to-the-northern-islands",
        ARTICLE,
        _page(
            words,
            "How do I",
            f"<h1>How do I get there?</h1><div>{_paragraphs(words, 2)}</div>"
            + "".join(f"<div class='answer'>{_paragraphs(words, 2)}</div>" for _ in range(3)),
            '<script type="application/ld+json">{"@type": "QAPage"}</script>',
        ),
    )


def _neither() -> Iterator[TypedPage]:
    site, words = "https://neither.example", ENGLISH
    login = "<form><input name=user><input type=password name=p><button>Log in</button></form>"
    yield TypedPage("login", f"{site}/login", OTHER, _page(words, "Log in", f"<h1>Log in</h1>{login}"))
    yield TypedPage(
        "login with a text",
        f"{site}/account/signin?next=/",
        OTHER,
        _page(GERMAN, "Anmelden", f"<h1>Anmelden</h1><p>{GERMAN.text(1)}</p>{login}"),
    )
    yield TypedPage(
        "page not found",
        f"{site}/2025/01/01/gone-with-the-storm",
        OTHER,
        _page(
            words,
            "404 Not Found",
            "<h1>Not found</h1><p>The page that you were looking for is not here.</p><a href='/'>Home</a>",
        ),
    )
    yield TypedPage(
        "page not found, in another language",
        f"{site}/artikel/9.html",
        OTHER,
        _page(GERMAN, "Seite nicht gefunden", "<h1>Oje</h1><p>Diese Seite gibt es nicht mehr.</p>"),
    )
    yield TypedPage(
        "error of a server",
        f"{site}/news/5",
        OTHER,
        "<html><title>503 Service Unavailable</title><body><h1>503</h1><p>Try again later.</p></body></html>",
    )
    yield TypedPage(
        "are you human",
        f"{site}/news/6",
        OTHER,
        "<html><title>Just a moment...</title><body><p>Checking your browser before you go on.</p></body></html>",
    )
    yield TypedPage("empty page", f"{site}/empty", OTHER, "<html><head><title>x</title></head><body></body></html>")
    yield TypedPage(
        "page that scripts would fill",
        f"{site}/app",
        OTHER,
        "<html><title>App</title><body><div id=root></div><script>start()</script></body></html>",
    )
    yield TypedPage(
        "form to write to somebody",
        f"{site}/contact",
        OTHER,
        _page(
            words,
            "Contact",
            "<h1>Contact</h1><form>"
            + "".join(f"<label>Field {n}</label><input name=f{n}>" for n in range(5))
            + "<button>Send</button></form>",
        ),
    )
    yield TypedPage(
        "thanks",
        f"{site}/thanks",
        OTHER,
        _page(words, "Thank you", "<h1>Thank you</h1><p>We have got your message.</p>"),
    )
