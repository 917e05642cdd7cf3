# SPDX-License-Identifier: Apache-2.0
"""Chromium without a screen, for tests of pages: DevTools' protocol through a pair of pipes."""
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from command import fail

PATIENCE = 120  # seconds for an answer on a machine with much else to do


class Browser:
    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="mw-browser-")
        (theirs_in, self.to), (self.back, theirs_out) = os.pipe(), os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (theirs_in, theirs_out)]

        def connect():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        words = ["chromium", "--headless", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
                 "--disable-background-networking", "--disable-dev-shm-usage", f"--user-data-dir={self.home}"]
        # Chromium refuses its sandbox to root
        words += ["--no-sandbox"] if os.getuid() == 0 else []
        self.process = subprocess.Popen(words, preexec_fn=connect, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        for fd in (*high, theirs_in, theirs_out):
            os.close(fd)
        self.number, self.rest, self.events, self.session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.home, ignore_errors=True)

    def receive(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.back], [], [], max(0, end - time.monotonic()))
            data = os.read(self.back, 1 << 20) if ready else b""
            if not data:
                fail("Chromium does not answer, or ended")
            self.rest += data
        line, self.rest = self.rest.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while (answer := self.receive()).get("id") != self.number:
            self.events.append(answer)
        if "error" in answer:
            fail(f"Chromium: {method}: {answer['error']}")
        return answer["result"]

    def evaluate(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            fail(f"{script[:80]}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def size(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, media="", scheme="light"):
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key,
                  windowsVirtualKeyCode={"Tab": 9, "ArrowLeft": 37, "ArrowRight": 39, "Enter": 13}[key])
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key)

    def load(self, path):
        """Opens a file. It must load no other one and write no error to the console, now and until the next one."""
        self.check_quiet()
        self.path, self.events = path, []
        self.call("Page.navigate", url=path.as_uri())
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.receive())
        self.check_quiet()

    def check_quiet(self):
        for event in self.events:
            name, about = event.get("method"), event.get("params", {})
            bad = (name == "Runtime.exceptionThrown" or name == "Log.entryAdded"
                   and about["entry"]["level"] == "error" or
                   name == "Runtime.consoleAPICalled" and about["type"] in ("error", "assert"))
            other = name == "Network.requestWillBeSent" and about["request"]["url"] != self.path.as_uri()
            if bad or other:
                fail(f"{self.path}: {json.dumps(about)[:600]}")
        self.events = []
