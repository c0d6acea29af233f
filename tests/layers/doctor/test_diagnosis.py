"""A diagnosis as text and as JSON."""

import json

import numpy as np

from attention_zoo.layers import diagnose


def test_the_text_of_a_finding():
    found = diagnose(
        "bahdanau",
        query=np.ones((3, 11)),
        memory=np.ones((3, 5, 13)),
        W_a=np.ones((17, 11)),
        U_a=np.ones((13, 17)),
        v_a=np.ones(17),
    )
    assert str(found) == (
        "bahdanau: wrong (batch = 3, T_enc = 5, d_s = 11, d_h = 13, d_attn = 17).\n"
        "1. W_a has shape (17, 11); expected (d_s, d_attn) = (11, 17). d_s = 11 is fixed by "
        "query; d_attn = 17 is fixed by U_a and v_a.\n"
        "   Fix: transpose W_a.\n"
        "     W_a = W_a.T"
    )


def test_everything_is_in_the_json(form, step):
    mechanism, one = form
    arrays = step(mechanism, one)
    for broken in (arrays, arrays | {"mask": arrays["mask"].T}, {"mask": arrays["mask"][:, :2]}):
        found = diagnose(mechanism, **broken)
        content = json.loads(json.dumps(found.to_dict()))
        assert content["mechanism"] == mechanism
        assert content["verdict"] == found.verdict
        assert [f["tensor"] for f in content["findings"]] == [f.tensor for f in found.findings]
        assert content["sizes"] == dict(found.sizes)
        assert content["regression_test"] == found.regression_test()
        assert {name: tuple(axes) for name, axes in content["axes"].items()} == dict(found.axes)


def test_candidates_are_told_apart():
    found = diagnose("bahdanau", memory=np.ones((3, 5, 13)), mask=np.ones((3, 7)))
    text = str(found)
    assert "2 explanations" in text
    assert "Candidate 1: memory has shape (3, 5, 13)" in text
    assert "Candidate 2: mask has shape (3, 7)" in text
    assert len(found.to_dict()["candidates"]) == 2
