"""Images that items name: looked at, brought into JPEG, kept with their thumbnails, and told in the item.

An image comes from a page, so its size is read, and judged, before its pixels are. These are read and written anew in a
thread, one image of a slave at a time: it takes seconds, and as much memory as all else that the slave does.
"""

from __future__ import annotations

import asyncio
import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from hashlib import md5, sha1
from io import BytesIO
from typing import TYPE_CHECKING, Any, ClassVar

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.slave.media.files_pipeline import FilesPipeline
from p2pcrawl.slave.media.media_pipeline import MediaInfo, accepting
from p2pcrawl.spiders.loading.parked import FileException

if TYPE_CHECKING:
    from PIL import Image

PIXELS_MAX = 50_000_000
"""Of one image. It takes 150 MB of memory, and less than 3 s: to read, to write anew, and for one thumbnail (measured:
1.7, 0.6 and 0.4 s). Where a class of people's own draws, the slave's loop waits as long, and its session lasts 5 s.
"""
FORMATS = ("AVIF", "BMP", "GIF", "ICO", "JPEG", "JPEG2000", "MPO", "PNG", "PPM", "TIFF", "WEBP")
"""The kinds that are read: of others, some are programs (EPS is given to Ghostscript)."""
_ORIENTATION = 0x0112
"""The tag of Exif that says which way up an image is."""
_QUALITY = 75


class ImageException(FileException):
    """An answer is no image, or not one that is wanted."""


Picture = tuple[str | None, "Image.Image", BytesIO]
"""An image and its bytes: the image itself, or the thumbnail of that name."""


class ImagesPipeline(FilesPipeline):
    """Keeps the images of ``image_urls`` in IMAGES_STORE, and tells of them in ``images``."""

    MEDIA_NAME = "image"
    STORE: ClassVar[str] = "IMAGES_STORE"
    MIN_WIDTH: int = 0
    MIN_HEIGHT: int = 0
    THUMBS: Mapping[str, tuple[int, int]] = {}
    DEFAULT_IMAGES_URLS_FIELD: ClassVar[str] = "image_urls"
    DEFAULT_IMAGES_RESULT_FIELD: ClassVar[str] = "images"
    IMAGES_URLS_FIELD: str
    IMAGES_RESULT_FIELD: str
    _drawn: ClassVar[ContextVar[deque[Picture] | ImageException | None]] = ContextVar("_drawn", default=None)
    """The pictures of the answer that the running task is at, made ahead; or why there are none."""

    def configure(self) -> None:
        """Reads the settings. Raises ConfigurationError when Pillow is not installed."""
        try:
            import PIL  # noqa: F401
        except ImportError:
            raise ConfigurationError("images need Pillow: pip install 'p2pcrawl[images]'") from None
        # For good: to hush a single call is nothing that a thread can do for itself.
        warnings.filterwarnings("ignore", module=r"PIL\.")
        self._drawing = asyncio.Lock()
        self.expires = int(self.setting("IMAGES_EXPIRES", self.EXPIRES))
        urls = getattr(self, "IMAGES_URLS_FIELD", self.DEFAULT_IMAGES_URLS_FIELD)
        results = getattr(self, "IMAGES_RESULT_FIELD", self.DEFAULT_IMAGES_RESULT_FIELD)
        self.images_urls_field: str = self.setting("IMAGES_URLS_FIELD", urls)
        self.images_result_field: str = self.setting("IMAGES_RESULT_FIELD", results)
        self.files_urls_field, self.files_result_field = self.images_urls_field, self.images_result_field
        self.min_width = int(self.setting("IMAGES_MIN_WIDTH", self.MIN_WIDTH))
        self.min_height = int(self.setting("IMAGES_MIN_HEIGHT", self.MIN_HEIGHT))
        self.thumbs: dict[str, tuple[int, int]] = {
            str(name): (int(size[0]), int(size[1]))
            for name, size in dict(self.setting("IMAGES_THUMBS", self.THUMBS)).items()
        }

    async def result_of(self, request: Request, response: Any, item: Any) -> Any:
        """Returns what ``media_downloaded`` does, with its pictures drawn beside the loop. What people have put in the
        place of ``get_images`` or ``convert_image`` is theirs, and is called where they expect it: in the loop.
        """
        ours = all(
            getattr(type(self), name) is getattr(ImagesPipeline, name) for name in ("get_images", "convert_image")
        )
        if not ours or response.status != 200:
            return await super().result_of(request, response, item)
        token = self._drawn.set(await self._drawn_beside(response.body))
        try:
            return await super().result_of(request, response, item)
        finally:
            self._drawn.reset(token)

    async def _drawn_beside(self, body: bytes) -> deque[Picture] | ImageException:
        async with self._drawing:
            try:
                return await asyncio.to_thread(lambda: deque(self._pictures(body)))
            except ImageException as error:
                return error

    # -- to be overridden ---------------------------------------------------------------------

    def file_path(self, request: Request, response: Any = None, info: Any = None, *, item: Any = None) -> str:
        """Returns the path at which an image is kept."""
        return f"full/{sha1(request.url.encode(), usedforsecurity=False).hexdigest()}.jpg"

    def thumb_path(
        self, request: Request, thumb_id: str, response: Any = None, info: Any = None, *, item: Any = None
    ) -> str:
        """Returns the path at which an image is kept in one of the sizes of IMAGES_THUMBS."""
        return f"thumbs/{thumb_id}/{sha1(request.url.encode(), usedforsecurity=False).hexdigest()}.jpg"

    def file_downloaded(self, response: Any, request: Request, info: MediaInfo, *, item: Any = None) -> Any:
        return accepting(self.image_downloaded, response, request, info, item=item)

    def image_downloaded(self, response: Any, request: Request, info: MediaInfo, *, item: Any = None) -> Any:
        """Begins to keep an image and its thumbnails. Returns the checksum of the image as it is kept."""
        checksum = None
        for path, image, buffer in accepting(self.get_images, response, request, info, item=item):
            if checksum is None:
                checksum = md5(buffer.getvalue(), usedforsecurity=False).hexdigest()
            width, height = image.size
            self.store.persist_file(
                path, buffer, info, meta={"width": width, "height": height}, headers={"Content-Type": "image/jpeg"}
            )
        return checksum

    def get_images(
        self, response: Any, request: Request, info: MediaInfo, *, item: Any = None
    ) -> Iterator[tuple[str, Image.Image, BytesIO]]:
        """Yields path, image and bytes: of the image itself, and of its thumbnails. Raises ImageException."""
        path = accepting(self.file_path, request, response=response, info=info, item=item)
        for name, image, buffer in self._ahead() or self._pictures(response.body):
            if name is not None:
                path = accepting(self.thumb_path, request, name, response=response, info=info, item=item)
            yield path, image, buffer

    def _ahead(self) -> Iterator[Picture] | None:
        """Takes the pictures that were drawn ahead, each out of memory as it goes on; None when there are none."""
        drawn = self._drawn.get()
        if isinstance(drawn, ImageException):
            raise drawn
        return _emptied(drawn) if drawn else None

    def _pictures(self, body: bytes) -> Iterator[Picture]:
        """Yields the image as it is kept, and its thumbnails. Raises ImageException."""
        original = upright(opened_image(body))
        width, height = original.size
        if width < self.min_width or height < self.min_height:
            raise ImageException(
                f"the image is too small ({width}x{height}; IMAGES_MIN_WIDTH and IMAGES_MIN_HEIGHT want "
                f"{self.min_width}x{self.min_height})"
            )
        yield None, *self.convert_image(original, response_body=BytesIO(body))
        for name, size in self.thumbs.items():
            yield name, *self.convert_image(original, size)

    def convert_image(
        self, image: Image.Image, size: tuple[int, int] | None = None, *, response_body: BytesIO | None = None
    ) -> tuple[Image.Image, BytesIO]:
        """Returns an image as it is kept, and its bytes: JPEG, on white where it is transparent, and within ``size``.
        One that is JPEG already is kept byte by byte.
        """
        from PIL import Image

        if image.mode in ("RGBA", "LA", "PA", "P") or "transparency" in image.info:
            layer = image.convert("RGBA")
            image = Image.new("RGBA", layer.size, (255, 255, 255))
            image.alpha_composite(layer)
        elif size is None and response_body is not None and image.format == "JPEG" and image.mode == "RGB":
            return image, response_body
        image = image.convert("RGB") if image.mode != "RGB" else image
        if size is not None:
            image = image.copy()
            image.thumbnail(size, Image.Resampling.LANCZOS)
        buffer = BytesIO()
        image.save(buffer, "JPEG", quality=_QUALITY)
        return image, buffer


def _emptied(pictures: deque[Picture]) -> Iterator[Picture]:
    while pictures:
        yield pictures.popleft()


def upright(image: Image.Image) -> Image.Image:
    """Returns an image as it is looked at: turned as its camera noted, or itself where it need not be."""
    from PIL import ImageOps

    turned = image.getexif().get(_ORIENTATION, 1) != 1
    return ImageOps.exif_transpose(image) if turned else image


def opened_image(body: bytes) -> Image.Image:
    """Opens an image, with its pixels read. Raises ImageException for what is none, is damaged, or is too large."""
    from PIL import Image

    try:
        Image.init()
        image = Image.open(BytesIO(body), formats=[name for name in FORMATS if name in Image.OPEN])
        width, height = image.size
        if width * height > PIXELS_MAX:
            raise ImageException(f"the image has {width}x{height} pixels, over the limit of {PIXELS_MAX}")
        image.load()
    except ImageException:
        raise
    except Exception as error:
        raise ImageException(f"not an image that can be read: {error}") from error
    return image
