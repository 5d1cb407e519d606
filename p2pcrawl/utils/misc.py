"""Classes by their names, and other small things."""

from w3lib.html import replace_entities

from p2pcrawl.spiders.aids.class_search import (
    build_from_crawler,
    create_instance,
    rel_has_nofollow,
    set_environ,
    walk_modules,
    walk_modules_iter,
)
from p2pcrawl.spiders.aids.text_forms import arg_to_iter, md5sum
from p2pcrawl.spiders.finding.objects import load_object

__all__ = [
    "arg_to_iter",
    "build_from_crawler",
    "create_instance",
    "load_object",
    "md5sum",
    "rel_has_nofollow",
    "replace_entities",
    "set_environ",
    "walk_modules",
    "walk_modules_iter",
]
