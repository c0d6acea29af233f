"""Calls of a TFLite file in the languages of apps, with LiteRT's interpreter.

Names and sizes come from the signatures of the file. Kotlin, Swift and C++ have no runtime for
TFLite files in the registries that this project installs from, so that nothing here is compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template
from typing import Any

from attention_zoo.export.host_signatures import HostSignatures
from attention_zoo.vocabulary import BOS, EOS

_ARRAYS = {"float32": "FloatArray", "int32": "IntArray", "bool": "BooleanArray"}

_KOTLIN = Template("""\
import java.io.File
import org.tensorflow.lite.Interpreter  // com.google.ai.edge.litert:litert, 2.1 or newer

val interpreter = Interpreter(File("$file"))

fun decode(source: IntArray): List<Int> {  // the loop of the file
    val tokens = Array(1) { IntArray($steps) }
    val outputs = mapOf("tokens" to tokens)
    interpreter.runSignature(mapOf("source" to arrayOf(source)), outputs, "greedy")
    return tokens[0].takeWhile { it != $eos }
}

fun decodeStepByStep(source: IntArray): List<Int> {
    val n = source.size
    val encoded = mutableMapOf<String, Any>(
$encoded
    )
    interpreter.runSignature(mapOf("source" to arrayOf(source)), encoded, "encode")
    val logits = $logits
    // the states are written over those that were read
    val answer = mapOf("logits" to logits) + encoded.filterKeys { it.startsWith("state_") }
    val tokens = mutableListOf($bos)
    while (tokens.size <= $steps && tokens.last() != $eos) {
        interpreter.runSignature(encoded + ("tokens" to intArrayOf(tokens.last())), answer, "step")
        tokens += ($eos until logits[0].size).maxBy { logits[0][it] }  // never pad or bos
    }
    return tokens.drop(1).takeWhile { it != $eos }
}""")

_SWIFT = Template("""\
import TensorFlowLite  // the pod TensorFlowLiteSwift

let interpreter = try Interpreter(modelPath: "$file")

func bytes(_ ids: [Int32]) -> Data { ids.withUnsafeBytes { Data($$0) } }
func values<T>(_ data: Data, _ type: T.Type) -> [T] {
  data.withUnsafeBytes { Array($$0.bindMemory(to: type)) }
}

func decode(_ source: [Int32]) throws -> [Int32] {  // the loop of the file
  let greedy = try interpreter.signatureRunner(with: "greedy")
  try greedy.resizeInput(named: "source", toShape: [1, source.count])
  try greedy.invoke(with: ["source": bytes(source)])
  return Array(values(try greedy.output(named: "tokens").data, Int32.self).prefix { $$0 != $eos })
}

func decodeStepByStep(_ source: [Int32]) throws -> [Int32] {
  let encode = try interpreter.signatureRunner(with: "encode")
  let step = try interpreter.signatureRunner(with: "step")
  try encode.resizeInput(named: "source", toShape: [1, source.count])
  try encode.invoke(with: ["source": bytes(source)])
  var given: [String: Data] = [:]
  for name in encode.outputs {
    let tensor = try encode.output(named: name)
    given[name] = tensor.data
    try step.resizeInput(named: name, toShape: tensor.shape)
  }
  var token: Int32 = $bos
  var tokens: [Int32] = []
  while tokens.count < $steps {
    given["tokens"] = bytes([token])
    try step.invoke(with: given)
    let logits = values(try step.output(named: "logits").data, Float32.self)
    token = Int32(($eos..<logits.count).max { logits[$$0] < logits[$$1] }!)  // never pad or bos
    if token == $eos { break }
    tokens.append(token)
    for name in [$states] { given[name] = try step.output(named: name).data }
  }
  return tokens
}""")

_CPP = Template("""\
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>
#include "tflite/interpreter_builder.h"  // in TensorFlow's repository: tensorflow/lite/...
#include "tflite/kernels/register.h"
#include "tflite/model_builder.h"
#include "tflite/signature_runner.h"

const auto model = tflite::FlatBufferModel::BuildFromFile("$file");

std::unique_ptr<tflite::Interpreter> opened() {
  std::unique_ptr<tflite::Interpreter> interpreter;
  tflite::ops::builtin::BuiltinOpResolver resolver;
  tflite::InterpreterBuilder(*model, resolver)(&interpreter);
  return interpreter;
}
const auto interpreter = opened();

void give(const TfLiteTensor* from, TfLiteTensor* to) {
  std::memcpy(to->data.raw, from->data.raw, from->bytes);
}

// every call gives a TfLiteStatus: hold it against kTfLiteOk in an app
tflite::SignatureRunner* run(const char* signature, const std::vector<int>& source) {
  tflite::SignatureRunner* runner = interpreter->GetSignatureRunner(signature);
  runner->ResizeInputTensor("source", {1, static_cast<int>(source.size())});
  runner->AllocateTensors();
  std::copy(source.begin(), source.end(), runner->input_tensor("source")->data.i32);
  runner->Invoke();
  return runner;
}

std::vector<int> decode(const std::vector<int>& source) {  // the loop of the file
  const int* ids = run("greedy", source)->output_tensor("tokens")->data.i32;
  return {ids, std::find(ids, ids + $steps, $eos)};
}

std::vector<int> decode_step_by_step(const std::vector<int>& source) {
  tflite::SignatureRunner* encode = run("encode", source);
  tflite::SignatureRunner* step = interpreter->GetSignatureRunner("step");
  for (const char* name : encode->output_names()) {
    const TfLiteIntArray* dims = encode->output_tensor(name)->dims;
    step->ResizeInputTensor(name, {dims->data, dims->data + dims->size});
  }
  step->AllocateTensors();
  for (const char* name : encode->output_names()) {
    give(encode->output_tensor(name), step->input_tensor(name));
  }
  std::vector<int> tokens;
  int token = $bos;
  while (tokens.size() < $steps) {
    step->input_tensor("tokens")->data.i32[0] = token;
    step->Invoke();
    const float* logits = step->output_tensor("logits")->data.f;
    token = std::max_element(logits + $eos, logits + $vocabulary) - logits;  // never pad or bos
    if (token == $eos) break;
    tokens.push_back(token);
    for (const char* name : {$states}) {
      give(step->output_tensor(name), step->input_tensor(name));
    }
  }
  return tokens;
}""")


def litert_calls(file: str, signatures: HostSignatures, steps: int) -> dict[str, str]:
    """language -> the loop of `file`, and one of the app's own.

    Args:
        file: its name.
        signatures: what is in it.
        steps: T_dec, the most tokens that are written.
    """
    encoded = [f'        "{one["name"]}" to {kotlin_array(one)},' for one in signatures.encoded]
    names = {
        "bos": BOS,
        "eos": EOS,
        "file": file,
        "steps": steps,
        "vocabulary": signatures.vocab_target,
        "states": ", ".join(f'"{name}"' for name in signatures.states),
        "encoded": "\n".join(encoded),
        "logits": kotlin_array(signatures.logits),
    }
    templates = {"Kotlin": _KOTLIN, "Swift": _SWIFT, "C++": _CPP}
    return {language: template.substitute(names) for language, template in templates.items()}


def kotlin_array(tensor: Mapping[str, Any]) -> str:
    """An array of the tensor's shape in Kotlin; n is T_enc, the one size that is open."""
    *outer, last = ["n" if size == -1 else str(size) for size in tensor["shape"]]
    text = f"{_ARRAYS[tensor['dtype']]}({last})"
    for size in reversed(outer):
        text = f"Array({size}) {{ {text} }}"
    return text
