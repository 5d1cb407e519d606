"""A real Chromium, driven by its own protocol over a pipe: it sees the dashboard as people do.

Debian's package is enough, and no driver comes between: each call is one message of the DevTools protocol.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import itertools
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from benchmarks.kit.parent import ends_with_us

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--remote-debugging-pipe",
)  # fmt: skip
ANSWERS_S = 120.0
NOT_BEFORE_S = 0.02
# Chromium wants its pipes at these numbers, where a parent may have others.
_AT_3_AND_4 = "import os, sys; i, o, *c = sys.argv[1:]; os.dup2(int(i), 3); os.dup2(int(o), 4); os.execvp(c[0], c)"
_KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}


def chromium() -> str | None:
    """Returns the path of a Chromium of this machine, if there is one."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


class Browser:
    """One process of Chromium with a folder of its own; ends by being closed."""

    def __init__(self, program: str, folder: Path) -> None:
        theirs_in, ours_out = _pipe()
        ours_in, theirs_out = _pipe()
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _AT_3_AND_4,
                *map(str, (theirs_in, theirs_out, program)),
                *FLAGS,
                f"--user-data-dir={folder}",
            ],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=ends_with_us(),
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._out = os.fdopen(ours_out, "wb", buffering=0)
        self._in = os.fdopen(ours_in, "rb", buffering=0)
        self._numbers = itertools.count(1)
        self._answers: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self._tabs: dict[str, Tab] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, queue.Empty):
            self.call("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        self._reader.join(10)
        self._out.close()
        self._in.close()

    def tab(self, width: int = 1280, height: int = 900) -> Tab:
        """Opens an empty page in a context of its own: no storage is shared."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = self._tabs[session] = Tab(self, session, target)
        tab.begin(width, height)
        return tab

    def call(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        """Makes a call, and returns its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        answers = self._answers[number] = queue.SimpleQueue()
        self._out.write(json.dumps(message).encode() + b"\0")
        try:
            answer = answers.get(timeout=ANSWERS_S)
        finally:
            del self._answers[number]
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self) -> None:
        rest = b""
        while piece := self._in.read(1 << 20):
            *whole, rest = (rest + piece).split(b"\0")
            for text in whole:
                message = json.loads(text)
                if waiting := self._answers.get(message.get("id", 0)):
                    waiting.put(message)
                elif tab := self._tabs.get(message.get("sessionId", "")):
                    tab.heard(message["method"], message["params"])


def _pipe() -> list[int]:
    """Makes a pipe whose ends are out of the way of those numbers."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in ends]
    for end in ends:
        os.close(end)
    return moved


class Tab:
    """One page."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser = browser
        self._session = session
        self._target = target
        self._traced: list[dict[str, Any]] = []
        self._time_over = threading.Event()
        self._trace_over = threading.Event()
        self.complaints: list[str] = []
        """Errors and warnings of the page: its console, its scripts, and what its policy refused."""

    def begin(self, width: int, height: int) -> None:
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.size(width, height)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def close(self) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)

    def heard(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Emulation.virtualTimeBudgetExpired":
            self._time_over.set()
        elif method == "Tracing.dataCollected":
            self._traced += params["value"]
        elif method == "Tracing.tracingComplete":
            self._trace_over.set()
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(each.get("value", each)) for each in params["args"]))

    # -- looking

    def run(self, script: str) -> Any:
        """Runs an expression in the page, waits for it if it is a promise, and returns its value."""
        told = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def text(self, selector: str = "body") -> str:
        """Returns the text of an element as it is seen; "" when there is none."""
        return str(self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def until(self, script: str, seconds: float = ANSWERS_S) -> Any:
        """Waits until an expression is true, and returns its value."""
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(AssertionError):  # The page may be going elsewhere.
                if found := self.run(f"((found) => found instanceof Node || found)({script})"):
                    return found
            assert time.monotonic() < deadline, f"never: {script}\n{self.complaints}\n{self.text()[:3000]}"
            time.sleep(NOT_BEFORE_S)

    def until_text(self, words: str, selector: str = "body", seconds: float = ANSWERS_S) -> None:
        """Waits until an element says these words."""
        where = f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"
        self.until(f"({where}).toLowerCase().includes({json.dumps(words.lower())})", seconds)

    def shot(self, path: Path, *, whole: bool = False) -> None:
        """Writes a picture of what is seen, or of the whole page."""
        told = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(told["data"]))

    @contextmanager
    def tasks(self) -> Iterator[list[float]]:
        """Lists how long each task kept the page from answering, in milliseconds of its thread's own time: what else a
        busy machine does is left out. The list is there when the block is left.
        """
        took: list[float] = []
        self._traced.clear()
        self._trace_over.clear()
        self.call("Tracing.start", traceConfig={"includedCategories": ["toplevel", "__metadata"]})
        yield took
        self.call("Tracing.end")
        assert self._trace_over.wait(ANSWERS_S)
        main = {
            (each["pid"], each["tid"])
            for each in self._traced
            if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"
        }
        mine = (each for each in self._traced if (each["pid"], each["tid"]) in main and each["ph"] == "X")
        took += (each.get("tdur", 0) / 1000 for each in mine)

    # -- doing

    def go(self, url: str) -> None:
        """Goes to an address, and waits until it is loaded."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        self.until(
            f"document.readyState === 'complete' && location.href.startsWith({json.dumps(url.partition('#')[0])})"
        )

    def size(self, width: int, height: int, *, phone: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def prefer(self, **features: str) -> None:
        """Sets what the user prefers: ``prefers_color_scheme="dark"``."""
        wanted = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", features=wanted)

    def click(self, selector: str) -> None:
        """Clicks with the mouse on an element, when it is there and seen."""
        found = json.dumps(selector)
        self.until(f"document.querySelector({found})?.checkVisibility() && !document.querySelector({found}).disabled")
        box = self.run(
            f"(() => {{ const e = document.querySelector({found}); e.scrollIntoView({{block: 'center'}});"
            " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2] })()"
        )
        at: Callable[..., object] = lambda kind: self.call(  # noqa: E731
            "Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1
        )
        at("mousePressed")
        at("mouseReleased")

    def let_pass(self, seconds: float) -> None:
        """Lets so much time pass for the page, and hardly any for others."""
        self._time_over.clear()
        self.call("Emulation.setVirtualTimePolicy", policy="advance", budget=1000 * seconds)
        assert self._time_over.wait(ANSWERS_S)

    def press(self, key: str, *, shift: bool = False) -> None:
        """Presses a key where the focus is."""
        code = _KEYS[key]
        sent = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        text = {"Enter": "\r", " ": " "}.get(key)
        self.call("Input.dispatchKeyEvent", type="keyDown", **sent, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **sent)

    def write(self, text: str) -> None:
        """Types a text where the focus is."""
        self.call("Input.insertText", text=text)

    def fill(self, selector: str, text: str) -> None:
        """Puts the focus into a field, and a text in place of what is there."""
        self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.focus(); e.select(); }})()")
        self.write(text)
