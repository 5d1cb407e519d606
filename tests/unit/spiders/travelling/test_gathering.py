"""What goes with a spider when it leaves its folder, and what stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.travelling import gathering
from p2pcrawl.spiders.travelling.gathering import gather_project

SPIDER = "from p2pcrawl import Spider\nclass S(Spider):\n    name = 's'\n"


def folder(tmp_path: Path, **files: str) -> Path:
    """Makes files; in their names ``__`` stands for a slash, and ``_dot_`` for a dot."""
    for name, text in {"spider_dot_py": SPIDER, **files}.items():
        path = tmp_path / name.replace("_dot_", ".").replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "spider.py"


def names(file: Path) -> set[str]:
    return set(gather_project(file).files)


def test_lone_spider_goes_alone_whatever_lies_beside_it(tmp_path: Path) -> None:
    file = folder(tmp_path, letter_dot_txt="dear", other_dot_py="", accounts_dot_csv="1")

    assert names(file) == {"spider.py"}


def test_modules_that_it_imports_go_with_it_and_those_that_these_import(tmp_path: Path) -> None:
    file = folder(
        tmp_path,
        spider_dot_py="import helpers\ndef f():\n    from late import x\n",
        helpers_dot_py="import deeper as d",
        deeper_dot_py="import spider, json, os.path, no_such_library",
        late_dot_py="x = 1",
        other_dot_py="",
    )

    assert names(file) == {"spider.py", "helpers.py", "deeper.py", "late.py"}


def test_package_goes_as_a_whole_with_its_data(tmp_path: Path) -> None:
    file = folder(
        tmp_path,
        spider_dot_py="from shop.items import Book",
        shop____init___dot_py="",
        shop__items_dot_py="",
        shop__rest_dot_py="import beside",
        shop__data__rates_dot_csv="1",
        shop__photo_dot_jpg="",
        beside_dot_py="",
    )
    (tmp_path / "shop/__init__.py").write_text("")

    assert names(file) >= {"spider.py", "shop/items.py", "shop/rest.py", "shop/data/rates.csv", "beside.py"}
    assert "shop/photo.jpg" not in names(file)


def test_module_of_a_setting_goes_with_it(tmp_path: Path) -> None:
    file = folder(
        tmp_path,
        spider_dot_py="settings = {'ITEM_PIPELINES': {'cleaning.Clean': 1}}",
        cleaning_dot_py="class Clean: ...",
    )

    assert names(file) == {"spider.py", "cleaning.py"}


def test_data_file_that_the_code_names_goes_with_it_and_no_other(tmp_path: Path) -> None:
    file = folder(
        tmp_path,
        spider_dot_py="open('urls.txt'); open('data/more.csv'); open('../up.txt'); open('/etc/hosts.txt')",
        urls_dot_txt="http://a/",
        data__more_dot_csv="",
        data__others_dot_csv="",
    )

    assert names(file) == {"spider.py", "urls.txt", "data/more.csv"}


def test_project_of_scrapys_goes_as_a_whole(tmp_path: Path) -> None:
    folder(
        tmp_path,
        scrapy_dot_cfg="[settings]\ndefault = shop.settings\n",
        shop__settings_dot_py="",
        shop__spiders__books_dot_py=SPIDER,
        shop__pipelines_dot_py="",
        seeds_dot_txt="",
        venv__pyvenv_dot_cfg="",
        venv__lib_dot_py="",
        run1__frontier_dot_db="",
        run1__items_dot_json="",
    )
    gathered = gather_project(tmp_path / "shop/spiders/books.py")

    assert gathered.entry == "shop/spiders/books.py"
    assert set(gathered.files) == {
        "shop/settings.py", "shop/spiders/books.py", "shop/pipelines.py", "seeds.txt", "spider.py",
    }  # fmt: skip


def test_secrets_hidden_files_and_links_stay(tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text("")
    inside = tmp_path / "project"
    inside.mkdir()
    file = folder(
        inside,
        scrapy_dot_cfg="[settings]\ndefault = s\n",
        _dot_env="KEY=1",
        _dot_git__config_dot_json="",
        credentials_dot_json="",
        my_token_dot_txt="",
        shop_dot_key="",
        node_modules__a_dot_json="",
    )
    (inside / "linked.py").symlink_to(outside)
    (inside / "folder").symlink_to(tmp_path)

    gathered = gather_project(file)

    assert set(gathered.files) == {"spider.py"}
    assert gathered.left_out == ["credentials.json", "my_token.txt"]


def test_module_that_a_library_has_is_the_librarys(tmp_path: Path) -> None:
    file = folder(
        tmp_path, spider_dot_py="import json, lxml, p2pcrawl", json_dot_py="", lxml_dot_py="", p2pcrawl_dot_py=""
    )

    assert names(file) == {"spider.py"}


def test_folder_with_too_much_in_it_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "LOOKED_AT_MAX", 10)
    file = folder(tmp_path, scrapy_dot_cfg="", **{f"a{n}_dot_jpg": "" for n in range(20)})

    with pytest.raises(ConfigurationError, match="put the spider into a folder of its own"):
        gather_project(file)


def test_spider_that_is_no_python_is_left_to_whoever_imports_it(tmp_path: Path) -> None:
    assert names(folder(tmp_path, spider_dot_py="class (")) == {"spider.py"}
