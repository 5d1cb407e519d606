"""Making people's components, in the ways in which they let themselves be made."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from p2pcrawl.model.errors import ConfigurationError, NotConfigured
from p2pcrawl.spiders.finding.objects import load_object
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle

log = logging.getLogger(__name__)


def make_component(cls_or_path: Any, handle: CrawlHandle, *arguments: Any, **named: Any) -> Any:
    """Makes a component of a crawl by its class's ``from_crawler``, else its ``from_settings``, else by calling it.

    The class may be named as :func:`load_object` takes it. Raises what making it raises, NotConfigured among it.
    """
    cls = load_object(cls_or_path) if isinstance(cls_or_path, str) else cls_or_path
    if hasattr(cls, "from_crawler"):
        made = cls.from_crawler(handle, *arguments, **named)
        how = "from_crawler"
    elif hasattr(cls, "from_settings"):
        made = cls.from_settings(handle.settings, *arguments, **named)
        how = "from_settings"
    else:
        return cls(*arguments, **named)
    if made is None:
        raise TypeError(f"{cls.__qualname__}.{how} returned None: it must return what it made")
    return made


@contextmanager
def taking_part(name: str) -> Iterator[None]:
    """Ends the block where a component that is made in it does not want to take part, and tells of it under its name.
    Raises ConfigurationError, one line, for whatever else goes wrong.
    """
    try:
        yield
    except NotConfigured as error:
        log.warning("%s takes no part%s", name, f": {error}" if str(error) else "")
    except ConfigurationError:
        raise
    except Exception as error:
        raise ConfigurationError(f"{name} cannot be made: {type(error).__name__}: {error}") from error


def make_spider(cls: type[Any], handle: CrawlHandle, arguments: Mapping[str, Any]) -> Any:
    """Makes the spider of a crawl, which is its handle's from then on. Raises what making it raises."""
    spider = make_component(cls, handle, **arguments)
    spider.crawler, spider.settings = handle, handle.settings
    handle.spider = spider
    return spider
