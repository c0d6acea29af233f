"""Figures of translation models: that they hold the data."""

import numpy as np
import pytest
from matplotlib import image

from attention_zoo.training.bleu import score_translations
from attention_zoo.training.translation_plots import plot_bleu_by_length, plot_training_curves

SOURCES = ["a b c", "a b c d e f g", "a " * 10, "a " * 20]
REFERENCES = [["the cat is here now"]] * 4


def scores(hypotheses, sources=SOURCES):
    return score_translations(hypotheses, REFERENCES[: len(hypotheses)], sources)


GOOD = scores(["the cat is here now"] * 4)
FALLING = scores(["the cat is here now"] * 2 + ["the cat is there"] * 2)


def picture(path, curves):
    plot_bleu_by_length(curves, path, title="title")
    return image.imread(path)


def test_bleu_by_length_shows_every_model(tmp_path):
    path = tmp_path / "new" / "bleu.png"
    one = picture(path, {"with attention": FALLING})
    two = picture(path, {"with attention": FALLING, "without": GOOD})
    assert one.shape == two.shape
    assert (one != two).any(-1).mean() > 0.002
    other = picture(path, {"with attention": GOOD})
    assert other.shape == one.shape
    assert (other != one).any()


def test_bleu_by_length_of_different_test_sets(tmp_path):
    with pytest.raises(ValueError, match=r"on one test set.*Fix"):
        plot_bleu_by_length({"a": GOOD, "b": scores(["x"] * 3, SOURCES[:3])}, tmp_path / "a.png")
    no_sources = score_translations(["a"], [["a"]])
    with pytest.raises(ValueError, match=r"expected scores by length"):
        plot_bleu_by_length({"a": no_sources}, tmp_path / "a.png")
    with pytest.raises(ValueError, match=r"expected scores by length"):
        plot_bleu_by_length({}, tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def write_log(path, **columns):
    names = ["step", *columns]
    rows = zip(range(100, 600, 100), *columns.values(), strict=True)
    path.write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


RUN = {
    "loss": [5.0, 4.0, 3.0, 2.5, 2.2],
    "val_loss": [4.8, 4.1, 3.4, 3.2, 3.1],
    "val_bleu": [0.5, "nan", 12.0, "nan", 20.0],
    "learning_rate": [1e-3, 1e-3, 7e-4, 5e-4, 4e-4],
}


def test_training_curves_have_a_panel_for_what_the_log_holds(tmp_path):
    path = tmp_path / "curves.png"
    heights = []
    for names in (["loss"], ["loss", "val_loss"], ["loss", "val_bleu"], list(RUN)):
        log = write_log(tmp_path / "log.csv", **{name: RUN[name] for name in names})
        plot_training_curves(log, path, title="run")
        heights.append(image.imread(path).shape[0])
    assert heights[0] == heights[1] < heights[2] < heights[3]


@pytest.mark.parametrize("column", list(RUN))
def test_training_curves_draw_every_column(tmp_path, column):
    drawn = []
    for factor in (1.0, np.nan):
        changed = {**RUN, column: [float(value) * factor for value in RUN[column]]}
        plot_training_curves(write_log(tmp_path / "log.csv", **changed), tmp_path / "a.png")
        drawn.append(image.imread(tmp_path / "a.png"))
    assert (drawn[0] != drawn[1]).any()


def test_training_curves_of_something_else(tmp_path):
    with pytest.raises(ValueError, match=r"expected the log of a run.*0 rows.*Fix"):
        plot_training_curves(tmp_path / "log.csv", tmp_path / "a.png")
    log = write_log(tmp_path / "log.csv", seconds=[1, 2, 3, 4, 5])
    with pytest.raises(ValueError, match=r"5 rows of \['seconds', 'step'\]"):
        plot_training_curves(log, tmp_path / "a.png")
