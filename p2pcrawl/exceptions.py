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
from p2pcrawl.spiders.aids.own_contract import ContractFail

__all__ = [
    "CannotResolveHostError",
    "CloseSpider",
    "ContractFail",
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
