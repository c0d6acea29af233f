"""The ratios to reach, from made-up rounds."""

import pytest
from inference_contenders import ONNX, ONNX_INT8, PLAIN, TFLITE, TFLITE_INT8, Files
from inference_process import ColdStart, Turn
from inference_rounds import Mode, Samples
from inference_targets import ONE, Target, targets

BATCH = Mode(7, 1)
# microseconds a token in each of three rounds
SPEEDS = {
    (PLAIN.key, ONE): (800, 900, 1000),
    (ONNX.key, ONE): (400, 300, 500),
    (ONNX_INT8.key, ONE): (200, 180, 400),
    (TFLITE.key, ONE): (300, 300, 300),
    (TFLITE_INT8.key, ONE): (100, 150, 120),
    (ONNX.key, BATCH): (90, 80, 100),
    (ONNX_INT8.key, BATCH): (50, 50, 50),
}


@pytest.fixture
def samples():
    turns = {
        key: [Turn((speed * 3e-6, speed * 2e-6), (2, 3), 0) for speed in speeds]
        for key, speeds in SPEEDS.items()
    }
    phases = {"import": 0.1, "load": 0.1, "first": 0.1}
    cold = [ColdStart(seconds, phases, int(seconds * 2e8)) for seconds in (0.5, 0.7, 0.4)]
    return Samples(turns, {ONNX_INT8.key: cold}, [1e9])


@pytest.fixture
def files(tmp_path):
    sizes = {ONNX: 1000, ONNX_INT8: 290, TFLITE: 1000, TFLITE_INT8: 310}
    for contender, size in sizes.items():
        path = tmp_path / contender.path
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(size))
    return Files(tmp_path)


def test_every_ratio_is_taken_within_its_round(samples, files):
    found = {target.what: target for target in targets(samples, files, BATCH)}
    plain = "against plain tf2onnx float32"
    expected = {
        f"ONNX float32 {plain}": ((2, 3, 2), 2.0, True),
        f"ONNX int8 {plain}": ((4, 5, 2.5), 3.5, True),
        "TFLite int8 against TFLite float32": ((3, 2, 2.5), 2.5, True),
        "ONNX int8, batch 7 against ONNX int8": ((4, 3.6, 8), 3.0, True),
        "ONNX int8, batch 7 against ONNX float32, batch 7": ((1.8, 1.6, 2), 1.6, True),
        "bytes of ONNX int8 against float32": ((29,), 30, True),
        "bytes of TFLite int8 against float32": ((31,), 30, False),
    }
    cold = "a fresh process that loads ONNX int8 and answers one sentence"
    expected[f"{cold}: time"] = ((0.5, 0.7, 0.4), 0.6, True)
    expected[f"{cold}: memory"] = ((100, 140, 80), 150, True)
    assert list(found) == list(expected)
    for what, (values, limit, is_reached) in expected.items():
        assert found[what].values == pytest.approx(values), what
        assert (found[what].limit, found[what].is_reached) == (limit, is_reached)


def test_what_was_not_measured_has_no_ratio(samples, files):
    for key in list(samples.turns):
        if key[0] in (PLAIN.key, ONNX_INT8.key, TFLITE.key):
            del samples.turns[key]
    samples.cold.clear()
    assert targets(samples, files, BATCH) == []


def test_a_line_of_the_table():
    over = Target("ratio", 2.0, (1.0, 3.0, 2.0))
    assert over.cells() == ["ratio", "at least 2x", "2.00x", "1.50x to 2.50x", "yes"]
    under = Target("bytes", 30.0, (31.25,), is_upper=True, unit="%", digits=1)
    assert under.cells() == ["bytes", "at most 30%", "31.2%", "-", "no"]
