"""What a translation holds, and one that was made in parts."""

import json

import numpy as np

from attention_zoo.export.translation import Translation, joined


def part(text, tokens, width, score):
    return Translation(
        source="all of it",
        text=text,
        score=score,
        tokens=tokens,
        pieces=[f"p{token}" for token in tokens],
        source_pieces=[f"s{index}" for index in range(width)],
        alignments=np.full((len(tokens), width), 1 / width, np.float32),
    )


def test_parts_stand_behind_each_other_and_their_alignments_on_the_diagonal():
    whole = joined([part("One.", [7, 2], 3, -0.5), part("", [2], 1, -0.25)], "all of it")
    assert (whole.text, whole.score, whole.tokens) == ("One.", -0.75, [7, 2, 2])
    assert whole.pieces == ["p7", "p2", "p2"]
    assert whole.source_pieces == ["s0", "s1", "s2", "s0"]
    third = np.float32(1 / 3)
    expected = [[third, third, third, 0], [third, third, third, 0], [0, 0, 0, 1]]
    np.testing.assert_array_equal(whole.alignments, np.array(expected, np.float32))


def test_one_part_is_the_whole():
    only = part("One.", [7, 2], 3, -0.5)
    assert joined([only], "all of it") is only


def test_json_has_all_fields_and_alternatives_only_where_there_are_any():
    best = part("One.", [7, 2], 3, -0.5)
    content = json.loads(json.dumps(best.to_dict()))
    assert content == {
        "source": "all of it",
        "text": "One.",
        "score": -0.5,
        "tokens": [7, 2],
        "pieces": ["p7", "p2"],
        "source_pieces": ["s0", "s1", "s2"],
        "alignments": [[0.333333] * 3] * 2,
    }
    both = Translation(source="x", alternatives=(best,)).to_dict()
    assert [other["text"] for other in both["alternatives"]] == ["One."]
    assert both["alignments"] == []
