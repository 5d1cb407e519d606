"""Images of items: what is kept of them, and what is refused."""

from __future__ import annotations

from hashlib import md5, sha1
from io import BytesIO
from pathlib import Path
from threading import get_ident
from typing import Any, ClassVar

import pytest
from PIL import Image

from p2pcrawl import Spider
from p2pcrawl.model.errors import ConfigurationError, NotConfigured
from p2pcrawl.pipelines.images import ImageException, ImagesPipeline
from p2pcrawl.slave.media import images_pipeline as images_module
from tests.unit.slave.media_crawls import Site, crawl

URL = "http://cdn.example/picture.png"
NAME = f"{sha1(URL.encode()).hexdigest()}.jpg"
IMAGES = {"p2pcrawl.pipelines.images.ImagesPipeline": 1}


def picture(mode: str = "RGB", size: tuple[int, int] = (60, 40), kind: str = "PNG", **options: Any) -> bytes:
    buffer = BytesIO()
    Image.new(mode, size).save(buffer, kind, **options)
    return buffer.getvalue()


def kept_in(path: Path) -> Image.Image:
    return Image.open(BytesIO(path.read_bytes()))


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Gallery(Spider):
    name = "gallery"

    def parse(self, response: Any) -> Any:
        yield {"image_urls": [URL]}


async def images_of(tmp_path: Path, body: bytes, **settings: Any) -> list[dict[str, Any]]:
    site = Site({"http://a.example/": b"page", URL: body})
    crawled = await crawl(Gallery, site, item_pipelines=IMAGES, IMAGES_STORE=str(tmp_path), **settings)
    (item,) = crawled.items
    return item["images"]


@pytest.mark.parametrize(
    "body", [picture(), picture("RGBA"), picture("P", transparency=0), picture("LA"), picture("L"), picture(kind="GIF")]
)
async def test_image_is_kept_as_jpeg(tmp_path: Path, body: bytes) -> None:
    (told,) = await images_of(tmp_path, body)

    kept = (tmp_path / "full" / NAME).read_bytes()
    image = Image.open(BytesIO(kept))
    assert told == {"url": URL, "path": f"full/{NAME}", "checksum": md5(kept).hexdigest(), "status": "downloaded"}
    assert (image.format, image.size, image.mode) == ("JPEG", (60, 40), "RGB")


async def test_what_is_transparent_becomes_white(tmp_path: Path) -> None:
    await images_of(tmp_path, picture("RGBA"))

    assert kept_in(tmp_path / "full" / NAME).getpixel((1, 1)) == (255, 255, 255)


async def test_jpeg_is_kept_byte_by_byte(tmp_path: Path) -> None:
    body = picture(kind="JPEG")

    await images_of(tmp_path, body)

    assert (tmp_path / "full" / NAME).read_bytes() == body


async def test_thumbnails_keep_the_proportions(tmp_path: Path) -> None:
    await images_of(tmp_path, picture(), IMAGES_THUMBS={"small": (30, 30), "big": [300, 300]})

    sizes = {name: kept_in(tmp_path / "thumbs" / name / NAME).size for name in ("small", "big")}
    assert sizes == {"small": (30, 20), "big": (60, 40)}


@pytest.mark.parametrize(
    ("body", "settings"),
    [
        (picture(size=(60, 9)), {"IMAGES_MIN_HEIGHT": 10}),
        (picture(size=(9, 60)), {"IMAGES_MIN_WIDTH": 10}),
        (b"no image", {}),
        (picture()[:60], {}),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", {}),
    ],
)
async def test_item_goes_on_without_an_image_that_is_not_wanted(
    tmp_path: Path, body: bytes, settings: dict[str, Any]
) -> None:
    assert await images_of(tmp_path, body, **settings) == []
    assert names_in(tmp_path) == []


async def test_image_of_very_many_pixels_is_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images_module, "PIXELS_MAX", 2_399)

    with pytest.raises(ImageException, match="60x40 pixels, over the limit"):
        images_module.opened_image(picture())


class Framed(ImagesPipeline):
    """Overrides what people do, and keeps a file of its own."""

    THUMBS = {"tiny": (6, 6)}  # noqa: RUF012

    def thumb_path(self, request: Any, thumb_id: str, response: Any = None, info: Any = None) -> str:
        return f"{thumb_id}.jpg"

    def image_downloaded(self, response: Any, request: Any, info: Any, *, item: Any = None) -> Any:
        checksum = super().image_downloaded(response, request, info, item=item)
        self.store.persist_file("raw.bin", BytesIO(response.body), info)
        return checksum


async def test_what_people_override_is_called(tmp_path: Path) -> None:
    site = Site({"http://a.example/": b"page", URL: picture()})

    await crawl(Gallery, site, item_pipelines={f"{__name__}.Framed": 1}, IMAGES_STORE=str(tmp_path))

    assert names_in(tmp_path) == ["full", "raw.bin", "tiny.jpg"]


class Drawer(ImagesPipeline):
    """Draws by itself, as people's classes may."""

    threads: ClassVar[list[int]] = []

    def convert_image(self, *arguments: Any, **named: Any) -> Any:
        self.threads.append(get_ident())
        return super().convert_image(*arguments, **named)


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
async def test_pictures_are_drawn_beside_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    threads = []

    def noted(body: bytes) -> Image.Image:
        threads.append(get_ident())
        return opened(body)

    opened = images_module.opened_image
    monkeypatch.setattr(images_module, "opened_image", noted)

    await images_of(tmp_path, picture(mode), IMAGES_THUMBS={"small": (30, 30)})

    assert len(threads) == 1 and get_ident() not in threads


async def test_what_people_draw_themselves_is_drawn_where_their_code_runs(tmp_path: Path) -> None:
    site = Site({"http://a.example/": b"page", URL: picture()})

    await crawl(Gallery, site, item_pipelines={f"{__name__}.Drawer": 1}, IMAGES_STORE=str(tmp_path))

    assert Drawer.threads == [get_ident()]


class HalfDone(ImagesPipeline):
    """Fails when it has begun to keep something."""

    def image_downloaded(self, response: Any, request: Any, info: Any, *, item: Any = None) -> Any:
        self.store.persist_file("raw.bin", BytesIO(response.body), info)
        raise ImageException("not this one")


async def test_what_was_begun_is_kept_before_the_item_goes_on_without_its_image(tmp_path: Path) -> None:
    site = Site({"http://a.example/": b"page", URL: picture()})

    crawled = await crawl(Gallery, site, item_pipelines={f"{__name__}.HalfDone": 1}, IMAGES_STORE=str(tmp_path))

    assert crawled.items[0]["images"] == [] and names_in(tmp_path) == ["raw.bin"]


async def test_pipeline_without_a_place_takes_no_part() -> None:
    with pytest.raises(NotConfigured, match="IMAGES_STORE is not set"):
        ImagesPipeline(None)

    crawled = await crawl(Gallery, Site({"http://a.example/": b"page"}), item_pipelines=IMAGES)

    assert crawled.items == [{"image_urls": [URL]}]


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("ftp://ada:secret@files.example/x", "no password"),
        ("http://files.example/x", "files are kept in a folder, or at s3"),
        ("s3://bucket/x?endpoint=none", "write the endpoint as"),
    ],
)
async def test_place_that_cannot_be_is_refused_in_one_line(place: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as raised:
        await crawl(Gallery, Site({}), item_pipelines=IMAGES, IMAGES_STORE=place)

    assert "secret" not in str(raised.value)


async def test_place_that_is_no_folder_is_refused_before_anything_is_fetched(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigurationError, match="cannot"):
        await crawl(Gallery, Site({}), item_pipelines=IMAGES, IMAGES_STORE=str(tmp_path / "file" / "images"))


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
async def test_image_stands_as_its_camera_was_held(tmp_path: Path, kind: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6

    (told,) = await images_of(tmp_path, picture(kind=kind, exif=exif), IMAGES_THUMBS={"small": (20, 20)})

    assert kept_in(tmp_path / told["path"]).size == (40, 60)
    assert kept_in(tmp_path / "thumbs" / "small" / NAME).size == (13, 20)
