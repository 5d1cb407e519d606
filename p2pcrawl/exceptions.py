"""Exceptions that people raise, and catch."""

from p2pcrawl.model.errors import (
    CannotResolveHostError,
    CloseSpider,
    DontCloseSpider,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    DropItem,
    IgnoreRequest,
    NotConfigured,
    NotSupported,
    ScrapyDeprecationWarning,
)

__all__ = [
    "CannotResolveHostError",
    "CloseSpider",
    "DontCloseSpider",
    "DownloadCancelledError",
    "DownloadConnectionRefusedError",
    "DownloadFailedError",
    "DownloadTimeoutError",
    "DropItem",
    "IgnoreRequest",
    "NotConfigured",
    "NotSupported",
    "ScrapyDeprecationWarning",
]
