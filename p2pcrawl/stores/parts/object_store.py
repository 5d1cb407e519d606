"""Part files in S3, Google's and Azure's object stores, by obstore, which does its work outside Python."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Mapping
from datetime import timedelta
from typing import Any, TypeVar

import obstore
from obstore import exceptions
from obstore.store import AzureStore, GCSStore, S3Store

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import SinkAddress
from p2pcrawl.stores.kinds import SinkPlace
from p2pcrawl.stores.parts.part_address import PartAddress, sink_of_parts
from p2pcrawl.stores.parts.part_sink import PartSink
from p2pcrawl.stores.parts.part_store import Blob, BlobFacts, Overtaken
from p2pcrawl.stores.sink import SinkAway

Result = TypeVar("Result")
OPTIONS: Mapping[str, tuple[str, ...]] = {"s3": ("endpoint", "region"), "az": ("endpoint",), "gs": ()}
"""Of an address, beside those of all parts: by scheme."""
TIMEOUT_S = 120.0
"""For one request, its repeats included: a part of 16 MiB is through in this time at 1.2 Mbit/s."""
_STATUS = re.compile(r"non-2xx status code: (\d+)")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
_CLIENT: dict[str, Any] = {"connect_timeout": "5s", "timeout": "60s"}
_RETRY: dict[str, Any] = {"max_retries": 3, "retry_timeout": timedelta(seconds=20)}
_NEVER = {
    "NoSuchBucket": "there is no such bucket",
    "InvalidBucketName": "no bucket can have this name",
    "AccessDenied": "these keys may not do that there",
    "InvalidAccessKeyId": "the access key is unknown there",
    "SignatureDoesNotMatch": "the secret key is wrong",
    "InvalidToken": "the session token is wrong",
    "ExpiredToken": "the session token has expired",
    "PermanentRedirect": "the bucket is in another region: say which by ?region=",
    "AuthorizationHeaderMalformed": "the bucket is in another region: say which by ?region=",
}


def make_object_sink(address: SinkAddress, place: SinkPlace) -> PartSink:
    """Makes the sink of an address of an object store. Raises ConfigurationError."""
    return sink_of_parts(
        address, place, lambda split: ObjectStore(split, address.scheme, address.secret), OPTIONS[address.scheme]
    )


class ObjectStore:
    """A :class:`~p2pcrawl.stores.parts.part_store.PartStore` in a bucket, below a prefix."""

    compares = True

    def __init__(self, address: PartAddress, scheme: str, secret: str) -> None:
        """Raises ConfigurationError."""
        self._where = f"{scheme}://{address.host}/{address.folder}"
        if not _BUCKET.fullmatch(address.host):
            raise ConfigurationError(f"{self._where}: no bucket can be called {address.host!r}")
        if not re.match(r"https?://[^/]", address.options.get("endpoint", "https://x")):
            raise ConfigurationError(f"{self._where}: write the endpoint as http://host:port or https://host")
        try:
            self._store = _opened(address, scheme, secret)
        except (exceptions.BaseError, ValueError, TypeError) as error:
            raise ConfigurationError(f"{self._where}: {_first_line(error)}") from None

    async def get(self, name: str) -> Blob | None:
        async def read() -> Blob:
            found = await obstore.get_async(self._store, name)
            return Blob(bytes(await found.bytes_async()), found.meta["e_tag"] or "")

        try:
            return await self._run(read())
        except FileNotFoundError:
            return None

    async def facts(self, name: str) -> BlobFacts | None:
        try:
            found = await self._run(obstore.head_async(self._store, name))
        except FileNotFoundError:
            return None
        return BlobFacts(found["last_modified"].timestamp(), found["size"], (found["e_tag"] or "").strip('"'))

    async def put(self, name: str, data: bytes) -> None:
        await self._run(obstore.put_async(self._store, name, data, use_multipart=False), missing="put")

    async def exchange(self, name: str, data: bytes, tag: str | None) -> str:
        mode: Any = "create" if tag is None else {"e_tag": tag}
        try:
            done = await self._run(obstore.put_async(self._store, name, data, mode=mode), missing="put")
        except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
            raise Overtaken(name) from None
        return done["e_tag"] or ""

    async def names(self, folder: str) -> list[str]:
        listed = await self._run(obstore.list_with_delimiter_async(self._store, folder or None))
        return [each["path"].rpartition("/")[2] for each in listed["objects"]]

    async def delete(self, name: str) -> None:
        try:
            await self._run(obstore.delete_async(self._store, name))
        except FileNotFoundError:
            return

    async def close(self) -> None:
        return

    async def _run(self, request: Awaitable[Result], missing: str = "") -> Result:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await request
        except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
            raise
        except TimeoutError:
            raise SinkAway(f"{self._where} does not answer") from None
        except FileNotFoundError as error:
            if not missing and "NoSuchBucket" not in str(error):
                raise
            raise self._explained(error) from None
        except Exception as error:  # Its panics are exceptions of no class that can be named.
            raise self._explained(error) from None

    def _explained(self, error: Exception) -> ConfigurationError | SinkAway:
        text = str(error)
        code, status = _CODE.search(text), _STATUS.search(text)
        if code and code[1] in _NEVER:
            return ConfigurationError(f"{self._where}: {_NEVER[code[1]]}")
        if isinstance(error, exceptions.PermissionDeniedError | exceptions.UnauthenticatedError):
            return ConfigurationError(f"{self._where}: these keys may not do that there")
        if isinstance(error, FileNotFoundError):
            return ConfigurationError(f"{self._where}: there is no such bucket")
        if "169.254.169.254" in text or "metadata.google.internal" in text or "redential" in text:
            return ConfigurationError(
                f"{self._where}: no keys for it: put them into the environment (AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY, GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_KEY), or into the address"
            )
        if "BareRedirect" in text:
            return ConfigurationError(f"{self._where}: {_NEVER['PermanentRedirect']}")
        reason = code[1] if code else f"it answers {status[1]}" if status else "it cannot be reached"
        return SinkAway(f"{self._where}: {reason}")


def _opened(address: PartAddress, scheme: str, secret: str) -> S3Store | GCSStore | AzureStore:
    endpoint = address.options.get("endpoint", "")
    client = {**_CLIENT, "allow_http": True} if endpoint.startswith("http://") else _CLIENT
    common: dict[str, Any] = {"prefix": address.folder, "client_options": client, "retry_config": _RETRY}
    if scheme == "s3":
        if address.user:
            common |= {"access_key_id": address.user, "secret_access_key": secret}
        if endpoint:
            common["endpoint"] = endpoint
        if region := address.options.get("region", ""):
            common["region"] = region
        return S3Store(address.host, **common)
    if scheme == "az":
        if address.user:
            common |= {"account_name": address.user}
        if secret:
            common |= {"account_key": secret}
        if endpoint:
            common["endpoint"] = endpoint
        return AzureStore(address.host, **common)
    if secret:
        common["service_account_key"] = secret
    return GCSStore(address.host, **common)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
