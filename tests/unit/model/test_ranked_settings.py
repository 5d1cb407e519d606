"""Settings that are being chosen: ranks, components, and the table of Scrapy's names."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from p2pcrawl.model.choosing.foreign_names import HARMLESS, IDLE, READ, TOLD, told_of
from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.crawl.settings import Settings, is_ours

SCRAPYS = (Path(__file__).parent / "scrapy_settings.txt").read_text().split()
"""The default settings of Scrapy 2.13 to 2.19, and those that earlier ones had."""


@pytest.mark.parametrize("name", SCRAPYS)
def test_setting_of_scrapy_is_ours_or_told_or_read_or_idle(name: str) -> None:
    assert is_ours(name) or name in TOLD or name in IDLE or name in READ


def test_table_has_no_name_that_scrapy_has_not() -> None:
    assert {*TOLD, *IDLE, *READ} - {*SCRAPYS} == set()
    assert {*HARMLESS} <= {*TOLD}
    assert not {*TOLD} & {*IDLE}


def test_what_has_no_effect_is_told_unless_it_asks_for_nothing() -> None:
    lines = list(
        told_of({"JOBDIR": "jobs/1", "DOWNLOAD_FAIL_ON_DATALOSS": False, "DNS_RESOLVER": None, "BOT_NAME": "b", "X": 1})
    )

    assert [line.partition(":")[0] for line in lines] == [
        "setting DOWNLOAD_FAIL_ON_DATALOSS has no effect",
        "setting JOBDIR has no effect",
    ]


class Component:
    pass


class Better(Component):
    pass


def test_value_gives_way_to_one_of_the_same_or_a_higher_rank() -> None:
    settings = RankedSettings({"A": 1, "B": 1, "C": 1}, priority="project")

    settings.set("A", 2, priority="spider")
    settings.set("A", 3)
    settings.set("B", 2)
    settings.set("C", 2, priority="default")
    settings["D"] = 4

    assert dict(settings) == {"A": 2, "B": 2, "C": 1, "D": 4}
    assert (settings.getpriority("A"), settings.getpriority("E"), settings.maxpriority()) == (30, None, 30)


def test_what_was_not_set_is_read_from_what_is_known() -> None:
    settings = RankedSettings(known=Settings(depth_limit=3))

    assert (settings.getint("DEPTH_LIMIT"), settings.getpriority("DEPTH_LIMIT")) == (3, 0)
    assert ("DEPTH_LIMIT" in settings, "NONE" in settings, len(settings)) == (True, False, 0)


def test_module_gives_its_upper_case_names() -> None:
    module = ModuleType("settings")
    module.__dict__.update(A=1, lower=2, B_C=3)
    settings = RankedSettings()

    settings.setmodule(module)

    assert dict(settings) == {"A": 1, "B_C": 3}


def test_ranks_are_kept_when_settings_are_put_into_others() -> None:
    typed = RankedSettings({"A": 1}, "cmdline")

    settings = RankedSettings(typed)
    settings.set("A", 2, "spider")

    assert settings["A"] == 1


def test_component_is_added_replaced_and_kept_in_its_order() -> None:
    settings = RankedSettings({"MW": {f"{__name__}.Component": 5}})

    settings.setdefault_in_component_priority_dict("MW", Component, 9)
    settings.replace_in_component_priority_dict("MW", Component, Better)
    settings.set_in_component_priority_dict("MW", Component, None)

    assert settings["MW"] == {Better: 5, Component: None}
    with pytest.raises(KeyError):
        settings.replace_in_component_priority_dict("NONE", Component, Better)


def test_item_of_a_list_is_added_once_and_removed() -> None:
    settings = RankedSettings({"L": "a,b"})

    settings.add_to_list("L", "b")
    settings.add_to_list("L", "c")
    settings.remove_from_list("L", "a")

    assert settings["L"] == ["b", "c"]
    with pytest.raises(ValueError, match="not in setting L"):
        settings.remove_from_list("L", "z")


def test_frozen_settings_refuse_changes_and_a_copy_does_not() -> None:
    settings = RankedSettings({"A": 1}).frozencopy()

    with pytest.raises(TypeError, match="cannot be changed any more"):
        settings.set("A", 2)
    copy = settings.copy()
    copy.delete("A")

    assert (settings.copy_to_dict(), copy.copy_to_dict()) == ({"A": 1}, {})


def test_setting_is_taken_out_or_else_the_default() -> None:
    settings = RankedSettings({"OWN": 1})

    assert (settings.pop("OWN"), settings.pop("OWN", 2)) == (1, 2)
    with pytest.raises(KeyError):
        settings.pop("OWN")


def test_copy_shares_no_list_with_what_it_was_made_of() -> None:
    settings = RankedSettings({"OWN": [[1]]})

    settings.copy().get("OWN")[0].append(2)

    assert settings.get("OWN") == [[1]]
