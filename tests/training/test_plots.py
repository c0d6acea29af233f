"""Figures: that a file holds a picture, and the picture the data."""

from matplotlib import image

from attention_zoo.training.plots import Curve, plot_accuracy_by_length


def test_curves(tmp_path):
    path = tmp_path / "curves.png"
    curve = Curve("one", (5, 10, 20), (1.0, 0.9, 0.7))
    plot_accuracy_by_length([curve], path, chance=0.2, title="title")
    alone = image.imread(path)
    spread = Curve("one", (5, 10, 20), (1.0, 0.9, 0.7), (0.9, 0.5, 0.3), (1.0, 1.0, 1.0))
    plot_accuracy_by_length([spread], path, chance=0.2, title="title")
    with_spread = image.imread(path)
    assert alone.shape == with_spread.shape
    assert (alone != with_spread).any(-1).mean() > 0.05
