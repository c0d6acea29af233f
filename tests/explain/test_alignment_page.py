"""The page: text stays text whatever it is, and nothing comes from elsewhere."""

import base64
import hashlib
from html.parser import HTMLParser

import numpy as np
import pytest

from attention_zoo.explain.alignment_page import alignment_page
from attention_zoo.explain.explanation import Explanation, Origin
from attention_zoo.explain.weights_note import WEIGHTS_NOT_REASONS

NASTY = ["</script><b>x", '"onmouseover="alert(1)', "<!--", "&lt;", "{note}", "a\0b", "\ud800", "'"]


class Page(HTMLParser):
    """What a browser would see: tags with attributes, and the text in each element."""

    def __init__(self, content):
        super().__init__()
        self.tags, self.words, self.scripts, self.styles, self._inside = [], [], [], [], []
        self.feed(content)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "bdi":
            self.words.append("")
        if tag not in ("meta", "link"):
            self._inside.append(tag)

    def handle_endtag(self, tag):
        if tag in self._inside:
            while self._inside.pop() != tag:
                pass

    def handle_data(self, data):
        inside = self._inside[-1] if self._inside else None
        if inside == "bdi":
            self.words[-1] += data
        elif inside in ("script", "style"):
            {"script": self.scripts, "style": self.styles}[inside].append(data)


def explanation(labels, model="m"):
    n = len(labels)
    weights = np.random.default_rng(0).dirichlet(np.ones(n), n)
    return Explanation(
        "x", "y", -0.5, list(range(n)), labels, labels, weights, Origin(model, "keras", "greedy")
    )


def shown(label):
    return label.replace("\0", "\ufffd").replace("\ud800", "?")


def test_nasty_words_and_names_are_only_text():
    harmless = Page(alignment_page(explanation(["a"] * len(NASTY)), "pieces"))
    page = Page(alignment_page(explanation(NASTY, model="<script>alert(1)</script>"), "pieces"))
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in harmless.tags]
    assert page.words == [shown(label) for label in NASTY] * 2
    assert page.scripts == harmless.scripts
    handlers = [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert handlers == []


def test_the_policy_names_the_hashes_of_the_one_script_and_the_one_style():
    page = Page(alignment_page(explanation(["a", "b"]), "pieces"))
    (policy,) = (attributes["content"] for _, attributes in page.tags if "http-equiv" in attributes)
    for kind, content in (("script", page.scripts), ("style", page.styles)):
        digest = base64.b64encode(hashlib.sha256("".join(content).encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_nothing_is_fetched():
    content = alignment_page(explanation(["a", "b"]))
    assert "http://" not in content
    assert "https://" not in content
    for _, attributes in Page(content).tags:
        assert not {"src", "href", "srcset", "action"} & set(attributes)


@pytest.mark.parametrize("level", ["words", "pieces"])
def test_each_target_word_carries_its_weights(level):
    found = explanation(["▁a", "b", "▁c", "</s>"])
    weights, source, target = found.view(level)
    page = Page(alignment_page(found, level))
    rows = [
        [float(weight) for weight in attributes["data-weights"].split(" ")]
        for tag, attributes in page.tags
        if tag == "button"
    ]
    np.testing.assert_allclose(rows, weights, atol=5e-5)
    assert page.words == [*source, *target]


def test_the_note():
    assert WEIGHTS_NOT_REASONS in alignment_page(explanation(["a"]))
    assert "checked &amp; so" in alignment_page(explanation(["a"]), note="checked & so")
