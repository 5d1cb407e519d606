"""What all tests share."""

from __future__ import annotations

import os

# No test trusts a public authority. Every process that imports aiohttp reads their list, which takes some 30 ms, and
# the tests start more than a thousand.
os.environ["SSL_CERT_FILE"] = os.devnull
