"""Serves a folder by SFTP on a free port of loopback until it is killed; prints the port. Arguments: the folder, and a
file that is given its key as OpenSSH writes known ones. The user is ``ada`` with the password ``secret``.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import asyncssh

folder, known = sys.argv[1:]


class Door(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == ("ada", "secret")


async def serve() -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")
    server = await asyncssh.create_server(
        Door,
        "127.0.0.1",
        0,
        server_host_keys=[key],
        sftp_factory=lambda channel: asyncssh.SFTPServer(channel, chroot=folder.encode()),
    )
    port = server.get_port()
    Path(known).write_bytes(f"[127.0.0.1]:{port} ".encode() + key.export_public_key())  # noqa: ASYNC240
    print(port, flush=True)
    await asyncio.Event().wait()


asyncio.run(serve())
