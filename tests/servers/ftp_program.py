"""Serves a folder by FTP on a free port of loopback until it is killed; prints the port.

Arguments: the folder; whether it renames over files that are there (``over``) or not (``never-over``); the port, or 0
for a free one. The user is ``ada`` with the password ``secret``; ``eve`` with the same may only read.
"""

from __future__ import annotations

import logging
import os
import sys

from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.filesystems import AbstractedFS
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.servers import FTPServer


class Timid(AbstractedFS):
    """Renames over no file."""

    def rename(self, src: str, dst: str) -> None:
        if os.path.exists(dst):
            raise FileExistsError(17, "File exists")
        super().rename(src, dst)


folder, over, port = sys.argv[1:]
logging.basicConfig(level=logging.ERROR)
authorizer = DummyAuthorizer()
authorizer.add_user("ada", "secret", folder, perm="elradfmwMT")
authorizer.add_user("eve", "secret", folder, perm="elr")
FTPHandler.authorizer = authorizer
FTPHandler.auth_failed_timeout = 0
if over == "never-over":
    FTPHandler.abstracted_fs = Timid
server = FTPServer(("127.0.0.1", int(port)), FTPHandler)
print(server.address[1], flush=True)
server.serve_forever()
