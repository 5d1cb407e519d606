"""A proxy that answers for the whole web with made-up pages, over https too: for programs that know no better."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from benchmarks.public.made_up import page_for, paths_of
from benchmarks.public.wanted import Demands

HEAD_MAX = 64 * 1024


class MadeUpWeb:
    """The web of one spider, at a proxy on loopback; ``folder`` is where its certificates are."""

    def __init__(self, demands: Demands, starts: list[str], folder: Path) -> None:
        self._demands = demands
        self._paths = paths_of(demands, starts)
        self._folder = folder
        self._authority = _Authority(folder)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.asked: Counter[str] = Counter()

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", 0, limit=HEAD_MAX), self._loop
        ).result()
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        served = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in served:
            task.cancel()
        await asyncio.gather(*served, return_exceptions=True)

    @property
    def certificate(self) -> Path:
        """The file by which programs trust it."""
        return self._authority.file

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        origin = ""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                method, target, _ = head.split("\r\n", 1)[0].split(" ", 2)
                if method == "CONNECT":
                    host = target.rpartition(":")[0]
                    origin = f"https://{host}"
                    writer.write(b"HTTP/1.1 200 here\r\n\r\n")
                    await writer.drain()
                    await writer.start_tls(self._authority.context(host))
                    continue
                length = next((int(v) for n, v in _headers(head) if n == "content-length"), 0)
                await reader.readexactly(length)
                writer.write(self._answer(target if "://" in target else origin + target, method))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, ValueError):
            pass
        finally:
            writer.close()

    def _answer(self, url: str, method: str) -> bytes:
        self.asked[url] += 1
        path = urlsplit(url).path or "/"
        if path == "/robots.txt":
            status, kind, body = 404, "text/plain", b""
        elif path.endswith((".jpg", ".png", ".gif", ".css", ".js", ".pdf", ".zip")):
            status, kind, body = 200, "application/octet-stream", b"made up"
        elif "sitemap" in path and path.endswith(".xml"):
            parts = urlsplit(url)
            places = "".join(f"<url><loc>{parts.scheme}://{parts.netloc}{each}</loc></url>" for each in self._paths)
            text = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{places}</urlset>'
            status, kind, body = 200, "application/xml", text.encode()
        else:
            status, kind = 200, "text/html; charset=utf-8"
            body = page_for(urlsplit(url)._replace(path=path).geturl(), self._demands, self._paths).encode()
        head = f"HTTP/1.1 {status} so\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + (b"" if method == "HEAD" else body)


def _headers(head: str) -> list[tuple[str, str]]:
    return [(n.strip().lower(), v.strip()) for n, _, v in (line.partition(":") for line in head.split("\r\n")[1:])]


class _Authority:
    """Signs a certificate for whatever host is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "made up")])
        builder = self._builder(self._name).add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.file = folder / "authority.pem"
        self.file.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        self._contexts: dict[str, ssl.SSLContext] = {}

    def _builder(self, subject: x509.Name) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=2))
        )

    def context(self, host: str) -> ssl.SSLContext:
        """Returns the TLS context of a server of that name."""
        if host not in self._contexts:
            names = x509.SubjectAlternativeName([x509.DNSName(host)])
            subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host[:64])])
            signed = self._builder(subject).add_extension(names, critical=False).sign(self._key, hashes.SHA256())
            file = self._folder / f"{len(self._contexts)}.pem"
            file.write_bytes(
                signed.public_bytes(serialization.Encoding.PEM)
                + self._key.private_bytes(
                    serialization.Encoding.PEM,
                    serialization.PrivateFormat.PKCS8,
                    serialization.NoEncryption(),
                )
            )
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(file)
            self._contexts[host] = context
        return self._contexts[host]
