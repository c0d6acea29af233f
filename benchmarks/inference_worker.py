"""One contender in a process of its own: it loads a file, answers once, and waits for more.

    python inference_worker.py KIND PATH THREADS MAX_LENGTH FIRST

KIND is `keras`, `savedmodel`, `onnx` or `tflite`; FIRST an .npz file of sources, the first of which
is answered at once. The process then says on stdout, as a line of JSON, what this cost; after that
it reads requests from stdin, a line of JSON each, until there are no more:

    {"do": "time", "sources": FILE}                answer each source twice, and say how long each
                                                   took the second time
    {"do": "answer", "sources": FILE, "to": FILE}  write the tokens of each into an .npz file

It imports no more than the runtime needs, since its memory and its start are measured.
"""

import time

BEGAN = time.monotonic()

import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402

import numpy as np  # noqa: E402


class KerasGraph:
    """Greedy decoding in Keras: one graph, traced at the first call."""

    def __init__(self, folder, max_length):
        from attention_zoo.presets import load_folder

        self._model = load_folder(folder)
        self._max_length = max_length

    def predict(self, source):
        return self._model.greedy(source, self._max_length)


def import_runtime(kind, threads):
    """Import what runs files of this kind."""
    if kind == "onnx":
        import onnxruntime  # noqa: F401
    elif kind == "tflite":
        from ai_edge_litert import interpreter  # noqa: F401
    else:
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    from attention_zoo.export import runtime  # noqa: F401


def load(kind, path, threads, max_length):
    """The model in this file, with `predict(source)`."""
    from attention_zoo.export import runtime

    if kind == "onnx":
        return runtime.OnnxModel(path, threads=threads)
    if kind == "tflite":
        return runtime.LiteRTModel(path, threads=threads)
    if kind == "savedmodel":
        return runtime.SavedModel(path)
    return KerasGraph(path, max_length)


def peak_bytes():
    """The most memory that this process has had resident so far."""
    try:
        # not ru_maxrss, which also holds the peak of the process that started this one
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line[:6] == "VmHWM:")
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def sources_of(path):
    """The arrays (batch, T_enc) of an .npz file, in order."""
    with np.load(path) as file:
        return [file[f"arr_{index}"] for index in range(len(file.files))]


def timed(model, sources):
    """Seconds and tokens of each source, after a call of each that is not counted."""
    for source in sources:
        model.predict(source)
    seconds, tokens = [], []
    for source in sources:
        began = time.perf_counter()
        outputs = model.predict(source)
        seconds.append(time.perf_counter() - began)
        tokens.append(int(outputs["lengths"].sum()))
    return {"seconds": seconds, "tokens": tokens}


def main(kind, path, threads, max_length, first):
    # what a library prints must not stand between the answers
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    threads, max_length = int(threads), int(max_length)
    marks = [BEGAN]
    import_runtime(kind, threads)
    marks.append(time.monotonic())
    model = load(kind, path, threads, max_length)
    marks.append(time.monotonic())
    model.predict(sources_of(first)[0])
    marks.append(time.monotonic())
    phases = dict(zip(("import", "load", "first"), np.diff(marks).tolist(), strict=True))
    print(json.dumps({**phases, "peak": peak_bytes()}), file=answers)
    for line in sys.stdin:
        request = json.loads(line)
        sources = sources_of(request["sources"])
        if request["do"] == "time":
            answer = timed(model, sources)
        else:
            np.savez(request["to"], *(model.predict(source)["tokens"] for source in sources))
            answer = {}
        print(json.dumps({**answer, "peak": peak_bytes()}), file=answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
