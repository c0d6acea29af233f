"""Where the time of a TFLite file goes: the operators inside its decode loop.

LiteRT's Python interpreter has no profiler, but the C interface of the library that comes with it
has one for compiled models, with an event an operator in whole microseconds. It is called in a
process of its own, since nothing checks what goes over such an interface:

    python tflite_profile.py FILE SOURCES     prints the costs as JSON

A compiled model runs the same kernels as the interpreter (XNNPACK's where it takes an operator, the
built-in ones otherwise), but only once for a source of one length: what the first run plans and
packs stands outside the operators, so there is no figure for the loop itself.
"""

from __future__ import annotations

import ctypes
import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from operator_cost import Cost, ProfileError, costs_of

SIGNATURE = b"greedy"
# the operator by which the subgraph of the decode loop is known
_CHOICE = "ARG_MAX"
_OPERATOR_EVENTS = 2 | 8  # of the interpreter, and of a delegate
_FLOAT32, _INT32, _HOST_MEMORY, _CPU = 1, 2, 1, 1
_READ, _WRITE = 0, 1


def profile_tflite(path: Path, sources: Path, timeout: float = 300.0) -> list[Cost]:
    """The costs of the decode loop's operators, one thread; the dearest first.

    Args:
        path: a file with the signature greedy.
        sources: an .npz file of sources (1, T_enc).
        timeout: seconds that the process may take.

    Raises:
        ProfileError: it ended otherwise.
    """
    words = [sys.executable, __file__, str(path), str(sources)]
    try:
        ran = subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False)
        return [Cost(**entry) for entry in json.loads(ran.stdout)]
    except (ValueError, subprocess.TimeoutExpired):
        raise ProfileError("LiteRT's profiler gave no answer") from None


def costs(events: Iterable[tuple[str, int, int]], tokens: int) -> list[Cost]:
    """The table of a profile.

    Args:
        events: name, subgraph and microseconds of every operator that ran.
        tokens: written in all runs.

    Raises:
        ProfileError: no subgraph chooses tokens.
    """
    events = list(events)
    bodies = {subgraph for name, subgraph, _ in events if name == _CHOICE}
    if not bodies:
        raise ProfileError(f"expected an operator {_CHOICE} in the decode loop, got none")
    totals: dict[str, list[float]] = {}
    for name, subgraph, us in events:
        if subgraph in bodies:
            entry = totals.setdefault(name, [0, 0])
            entry[0] += 1
            entry[1] += us
    return costs_of(totals, tokens, sum(us for _, us in totals.values()))


class _Layout(ctypes.Structure):
    _fields_ = (
        ("rank", ctypes.c_uint, 7),
        ("has_strides", ctypes.c_uint, 1),
        ("dimensions", ctypes.c_int32 * 8),
        ("strides", ctypes.c_uint32 * 8),
    )


class _TensorType(ctypes.Structure):
    _fields_ = (("element", ctypes.c_int), ("layout", _Layout))


class _Event(ctypes.Structure):
    _fields_ = (
        ("tag", ctypes.c_char_p),
        ("kind", ctypes.c_int),
        ("start", ctypes.c_uint64),
        ("elapsed", ctypes.c_uint64),
        ("memory", ctypes.c_size_t * 6),
        ("operator", ctypes.c_uint64),
        ("subgraph", ctypes.c_uint64),
        ("source", ctypes.c_int),
    )


class _LiteRT:
    """The C interface; a status other than 0 is an error."""

    def __init__(self) -> None:
        spec = find_spec("ai_edge_litert")
        if spec is None or spec.origin is None:
            raise ProfileError("ai-edge-litert is not installed")
        self._library = ctypes.CDLL(str(Path(spec.origin).with_name("libLiteRt.so")))
        self._kept: list[Any] = []
        self._release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, f"LiteRt{name}")(*arguments)
        if status:
            raise ProfileError(f"LiteRt{name} gave status {status}")

    def made(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        """What a function hands back through its last argument."""
        handle = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(handle))
        return handle

    def compiled(self, environment: Any, model: Any) -> ctypes.c_void_p:
        """The model, compiled for one thread and with a profiler."""
        options = self.made("CreateOptions")
        self.call("SetOptionsHardwareAccelerators", options, _CPU)
        for name, text in (
            (b"xnnpack", b"num_threads = 1\n"),
            (b"runtime_options_string", b"enable_profiling = true\n"),
        ):
            payload = ctypes.create_string_buffer(text)
            self._kept.append(payload)
            pointer = ctypes.cast(payload, ctypes.c_void_p)
            own = self.made("CreateOpaqueOptions", name, pointer, self._release)
            self.call("AddOpaqueOptions", options, own)
        return self.made("CreateCompiledModel", environment, model, options)

    def buffer(self, environment: Any, element: int, shape: Sequence[int]) -> ctypes.c_void_p:
        """Host memory for one tensor of four bytes a value."""
        kind = _TensorType(element)
        kind.layout.rank = len(shape)
        kind.layout.dimensions[: len(shape)] = shape
        self._kept.append(kind)
        size = ctypes.c_size_t(4 * int(np.prod(shape)))
        return self.made(
            "CreateManagedTensorBuffer", environment, _HOST_MEMORY, ctypes.byref(kind), size
        )

    def memory(self, buffer: Any, mode: int) -> ctypes.c_void_p:
        address = ctypes.c_void_p()
        self.call("LockTensorBuffer", buffer, ctypes.byref(address), mode)
        return address


def _run(
    litert: _LiteRT, environment: Any, model: Any, source: np.ndarray
) -> tuple[list[tuple[str, int, int]], int]:
    """The operators that ran for one source, and how many tokens it was answered by."""
    index, outputs = _signature(litert, model)
    compiled = litert.compiled(environment, model)
    size_t = ctypes.c_size_t
    shape = (ctypes.c_int * 2)(*source.shape)
    litert.call("CompiledModelResizeInputTensor", compiled, index, size_t(0), shape, size_t(2))
    layouts = (_Layout * len(outputs))()
    litert.call(
        "GetCompiledModelOutputTensorLayouts", compiled, index, size_t(len(outputs)), layouts, True
    )
    buffers = {}
    for name, layout in zip(outputs, layouts, strict=True):
        sizes = list(layout.dimensions[: layout.rank])
        if name == "alignments":
            sizes[-1] = source.shape[1]  # known when the loop has run
        element = _FLOAT32 if name in ("alignments", "scores") else _INT32
        buffers[name] = litert.buffer(environment, element, sizes)
    read = litert.buffer(environment, _INT32, source.shape)
    values = np.ascontiguousarray(source, np.int32)
    ctypes.memmove(litert.memory(read, _WRITE), values.ctypes.data, values.nbytes)
    litert.call("UnlockTensorBuffer", read)
    profiler = litert.made("CompiledModelGetProfiler", compiled)
    litert.call("StartProfiler", profiler)
    inputs, written = _array([read]), _array(list(buffers.values()))
    counts = size_t(1), size_t(len(outputs))
    litert.call("RunCompiledModel", compiled, index, counts[0], inputs, counts[1], written)
    litert.call("StopProfiler", profiler)
    length = litert.memory(buffers["lengths"], _READ)
    tokens = ctypes.cast(length, ctypes.POINTER(ctypes.c_int32))[0]
    found = _events(litert, profiler)
    litert._library.LiteRtDestroyCompiledModel(compiled)
    return found, tokens


def _signature(litert: _LiteRT, model: Any) -> tuple[ctypes.c_size_t, list[str]]:
    """Place and outputs of the signature that is profiled."""
    count = ctypes.c_size_t()
    litert.call("GetNumModelSignatures", model, ctypes.byref(count))
    for index in range(count.value):
        signature = litert.made("GetModelSignature", model, ctypes.c_size_t(index))
        key = ctypes.cast(litert.made("GetSignatureKey", signature), ctypes.c_char_p).value
        if key == SIGNATURE:
            outputs = ctypes.c_size_t()
            litert.call("GetNumSignatureOutputs", signature, ctypes.byref(outputs))
            names = [
                litert.made("GetSignatureOutputName", signature, ctypes.c_size_t(place))
                for place in range(outputs.value)
            ]
            texts = [ctypes.cast(name, ctypes.c_char_p).value or b"" for name in names]
            return ctypes.c_size_t(index), [text.decode() for text in texts]
    raise ProfileError(f"expected a signature {SIGNATURE.decode()}, got none")


def _events(litert: _LiteRT, profiler: Any) -> list[tuple[str, int, int]]:
    count = ctypes.c_int()
    litert.call("GetNumProfilerEvents", profiler, ctypes.byref(count))
    events = (_Event * count.value)()
    litert.call("GetProfilerEvents", profiler, count, events)
    return [
        (one.tag.decode(), int(one.subgraph), int(one.elapsed))
        for one in events
        if one.kind & _OPERATOR_EVENTS
    ]


def _array(handles: Sequence[ctypes.c_void_p]) -> Any:
    return (ctypes.c_void_p * len(handles))(*(handle.value for handle in handles))


def main(path: str, sources: str) -> None:
    litert = _LiteRT()
    environment = litert.made("CreateEnvironment", 0, None)
    model = litert.made("CreateModelFromFile", environment, path.encode())
    events: list[tuple[str, int, int]] = []
    tokens = 0
    with np.load(sources) as file:
        for name in file.files:
            found, written = _run(litert, environment, model, file[name])
            events += found
            tokens += written
    print(json.dumps([dataclasses.asdict(cost) for cost in costs(events, tokens)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
