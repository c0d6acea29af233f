"""The page in a real browser: what is lit when the mouse or the keyboard points at a word."""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess

import numpy as np
import pytest

from attention_zoo.explain.alignment_files import write_page
from attention_zoo.explain.explanation import Explanation, Origin

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here to open the page with")

SOURCE = ["▁Je", "▁suis", "▁fatigué", "</script><b>x", "</s>"]
TARGET = ["▁I", "▁am", "▁tired", "</s>"]
WEIGHTS = np.array(
    [
        [0.7, 0.2, 0.05, 0.05, 0.0],
        [0.1, 0.8, 0.1, 0.0, 0.0],
        [0.0, 0.1, 0.25, 0.65, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
    ]
)
# what is lit and how strongly it shows
LIT = """[...document.querySelectorAll("#source .word")].map((word) =>
  [word.dataset.lit === undefined ? null : Number(word.dataset.lit),
   getComputedStyle(word).backgroundColor])"""


class Browser:
    """A headless Chromium that is spoken to through a pipe, in the DevTools protocol."""

    def __init__(self, profile):
        from_browser, to_us = os.pipe()
        from_us, to_browser = os.pipe()
        # 3 and 4 are the browser's; numbers above cannot be overwritten by the copies below
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (from_us, to_us)]

        def hand_over():
            os.dup2(theirs[0], 3)
            os.dup2(theirs[1], 4)

        self.process = subprocess.Popen(
            [
                BROWSER,
                *("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"),
                *("--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={profile}"),
                "about:blank",
            ],
            preexec_fn=hand_over,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for fd in (from_us, to_us, *theirs):
            os.close(fd)
        self.reader = os.fdopen(from_browser, "rb")
        self.writer = os.fdopen(to_browser, "wb", buffering=0)
        self.number, self.session = 0, None

    def message(self):
        """The next message of the browser; they end with a NUL."""
        content = bytearray()
        while (byte := self.reader.read(1)) != b"\0":
            assert byte, "the browser went away"
            content += byte
        return json.loads(content)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        self.writer.write(json.dumps(request).encode() + b"\0")
        while (answer := self.message()).get("id") != self.number:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, path):
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self.session = attached["sessionId"]
        self.call("Page.enable")
        # a window that nobody sees gets no focus otherwise
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        self.call("Page.navigate", url=path.as_uri())
        while self.message().get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def hover(self, place):
        """Move the mouse to the middle of a target word; away from all of them for None."""
        if place is None:
            x, y = 1, 1
        else:
            box = f"""(({{left, top, width, height}}) => [left + width / 2, top + height / 2])(
                document.querySelectorAll("#target button")[{place}].getBoundingClientRect())"""
            x, y = self.evaluate(box)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        return x, y

    def press(self, key):
        number = {"Tab": 9, "ArrowLeft": 37, "ArrowRight": 39}[key]
        for kind in ("rawKeyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=number,
            )

    def close(self):
        with contextlib.suppress(OSError):
            self.writer.close()
        self.process.terminate()
        self.process.wait(30)
        self.reader.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture
def page(browser, tmp_path):
    """The browser, with the page of `WEIGHTS` open."""
    origin = Origin("m", "keras", "greedy")
    explanation = Explanation("", "", 0.0, [1] * 4, TARGET, SOURCE, WEIGHTS, origin)
    path = tmp_path / "alignment.html"
    write_page(explanation, path, "pieces")
    browser.session = None
    browser.open(path)
    return browser


def strengths(lit):
    return [weight for weight, _ in lit]


def opacity(colour):
    """The last number of `rgba(8, 48, 107, 0.7)`; `rgb(...)` is opaque."""
    parts = colour[colour.index("(") + 1 : -1].split(",")
    return float(parts[3]) if len(parts) == 4 else 1.0


def test_hovering_lights_the_source_words_by_their_weights(page):
    assert strengths(page.evaluate(LIT)) == [None] * 5
    for place, row in enumerate(WEIGHTS):
        page.hover(place)
        lit = page.evaluate(LIT)
        assert strengths(lit) == pytest.approx(row.tolist(), abs=5e-5)
        assert [opacity(colour) for _, colour in lit] == pytest.approx(row.tolist(), abs=5e-3)
    page.hover(None)
    assert strengths(page.evaluate(LIT)) == [None] * 5


def test_the_words_that_count_are_said(page):
    page.hover(2)
    said = page.evaluate('document.getElementById("lit").textContent')
    assert said == "</script><b>x 0.65 · ▁fatigué 0.25 · ▁suis 0.10"


def test_a_nasty_word_is_only_text(page):
    words = '[...document.querySelectorAll("#source .word")].map((word) => word.textContent)'
    assert page.evaluate(words) == SOURCE
    assert page.evaluate('document.querySelectorAll("b").length') == 0


def test_the_keyboard_does_the_same(page):
    page.press("Tab")
    assert strengths(page.evaluate(LIT)) == pytest.approx(WEIGHTS[0].tolist(), abs=5e-5)
    page.press("ArrowRight")
    page.press("ArrowRight")
    assert strengths(page.evaluate(LIT)) == pytest.approx(WEIGHTS[2].tolist(), abs=5e-5)
    page.press("ArrowLeft")
    assert strengths(page.evaluate(LIT)) == pytest.approx(WEIGHTS[1].tolist(), abs=5e-5)
    page.evaluate("document.activeElement.blur()")
    assert strengths(page.evaluate(LIT)) == [None] * 5


def test_a_click_keeps_a_word_lit(page):
    x, y = page.hover(1)
    for kind in ("mousePressed", "mouseReleased"):
        page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    page.hover(None)
    page.evaluate("document.activeElement.blur()")
    assert strengths(page.evaluate(LIT)) == pytest.approx(WEIGHTS[1].tolist(), abs=5e-5)
    pressed = '[...document.querySelectorAll("[aria-pressed=true]")].map((it) => it.textContent)'
    assert page.evaluate(pressed) == ["▁am"]
