"""The verb ``new``: a first spider, or a small project, to begin from."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from urllib.parse import urlsplit

from p2pcrawl.cli.screen.terminal import show
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.page.typed_urls import checked_url

_SPIDER = """from p2pcrawl import Spider


class {cls}(Spider):
    name = "{name}"
    allowed_domains = ["{host}"]
    start_urls = ["{url}"]

    def parse(self, response):
        yield {{"url": response.url, "title": response.title}}
        yield response.follow_all()
"""
_SETTINGS = """# Settings of all spiders here, by Scrapy's names.

DOWNLOAD_DELAY = 1
# ITEM_PIPELINES = {{"{name}.pipelines.Clean": 300}}
"""
_CONFIG = """[settings]
default = {name}.settings
"""


def run_new(name: str, url: str, *, project: bool) -> int:
    """Writes the files and says what to run next. Raises ConfigurationError where one of them is there already."""
    checked = checked_url(url)
    plain = re.sub(r"\W+", "_", name).strip("_").lower()
    if not plain.isidentifier() or keyword.iskeyword(plain):
        raise ConfigurationError(f"{name!r} cannot name a spider: letters, digits and _ can, as in quotes_2")
    cls = "".join(part.capitalize() for part in plain.split("_"))
    host = urlsplit(checked).hostname or ""
    spider = _SPIDER.format(cls=cls, name=plain, host=host, url=checked)
    if not project:
        _write({Path(f"{plain}.py"): spider})
        show(f"{plain}.py is written; try it: p2pcrawl parse {checked} --spider {plain}.py")
        show(f"then: p2pcrawl crawl {plain}.py -o {plain}.jsonl")
        return 0
    folder = Path(plain)
    _write(
        {
            folder / "scrapy.cfg": _CONFIG.format(name=plain),
            folder / plain / "__init__.py": "",
            folder / plain / "settings.py": f'SPIDER_MODULES = ["{plain}.spiders"]\n' + _SETTINGS.format(name=plain),
            folder / plain / "spiders" / "__init__.py": "",
            folder / plain / "spiders" / f"{plain}_spider.py": spider,
        }
    )
    show(f"{folder}/ is written; run: p2pcrawl crawl --scrapy {plain} {plain} -o {plain}.jsonl")
    return 0


def _write(files: dict[Path, str]) -> None:
    for path in files:
        if path.exists():
            raise ConfigurationError(f"{path} is there already: give another name, or remove it first")
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(f"cannot write {path}: {error.strerror}") from error
