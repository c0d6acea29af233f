"""Calls of ONNX files in C++ and JavaScript, with onnxruntime.

Names and sizes come from the signatures of the files. A test runs the JavaScript; for C++ no
registry that this project installs from has onnxruntime's headers.
"""

from __future__ import annotations

from collections.abc import Iterable
from string import Template

from attention_zoo.export.host_signatures import HostSignatures
from attention_zoo.vocabulary import BOS, EOS

_IDS = {"bos": BOS, "eos": EOS}

_CPP_LOOP = Template("""\
#include <algorithm>
#include <vector>
#include <onnxruntime_cxx_api.h>

Ort::Env env(ORT_LOGGING_LEVEL_ERROR);
Ort::Session model(env, "$file", Ort::SessionOptions());  // on Windows L"$file"

std::vector<int32_t> decode(std::vector<int32_t> source) {  // the loop of the file
  auto cpu = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  const int64_t shape[] = {1, static_cast<int64_t>(source.size())};
  auto ids = Ort::Value::CreateTensor<int32_t>(cpu, source.data(), source.size(), shape, 2);
  const char *given[] = {"source"}, *wanted[] = {"tokens"};
  auto answer = model.Run(Ort::RunOptions(), given, &ids, 1, wanted, 1);
  const int32_t* tokens = answer[0].GetTensorData<int32_t>();
  return {tokens, std::find(tokens, tokens + $steps, $eos)};
}""")

_JS_LOOP = Template("""\
import ort from "onnxruntime-node"; // in a browser: onnxruntime-web

const model = await ort.InferenceSession.create("$file", { logSeverityLevel: 3 });

async function decode(ids) { // the loop of the file
  const source = new ort.Tensor("int32", Int32Array.from(ids), [1, ids.length]);
  const { tokens } = await model.run({ source }, ["tokens"]);
  const ended = tokens.data.indexOf($eos);
  return Array.from(ended < 0 ? tokens.data : tokens.data.subarray(0, ended));
}""")

_CPP_STEPS = Template("""\
#include <algorithm>
#include <vector>
#include <onnxruntime_cxx_api.h>

Ort::Env env(ORT_LOGGING_LEVEL_ERROR);
Ort::Session encoder(env, "$encoder", Ort::SessionOptions());
Ort::Session step(env, "$step", Ort::SessionOptions());

std::vector<int32_t> decode(std::vector<int32_t> source) {
  auto cpu = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  const int64_t shape[] = {1, static_cast<int64_t>(source.size())}, one[] = {1};
  auto ids = Ort::Value::CreateTensor<int32_t>(cpu, source.data(), source.size(), shape, 2);
  const char* first[] = {"source"};
  std::vector<const char*> names = {$encoded};  // the states come first
  const std::vector<const char*> wanted = {"logits", $next};
  auto given = encoder.Run(Ort::RunOptions(), first, &ids, 1, names.data(), names.size());
  int32_t token = $bos;
  names.push_back("tokens");
  given.push_back(Ort::Value::CreateTensor<int32_t>(cpu, &token, 1, one, 1));
  std::vector<int32_t> tokens;
  while (tokens.size() < $steps) {
    auto answer = step.Run(Ort::RunOptions(), names.data(), given.data(), given.size(),
                           wanted.data(), wanted.size());
    const float* logits = answer[0].GetTensorData<float>();
    token = std::max_element(logits + $eos, logits + $vocabulary) - logits;  // never pad or bos
    if (token == $eos) break;
    tokens.push_back(token);
    std::move(answer.begin() + 1, answer.end(), given.begin());
  }
  return tokens;
}""")

_JS_STEPS = Template("""\
import ort from "onnxruntime-node"; // in a browser: onnxruntime-web

const encoder = await ort.InferenceSession.create("$encoder");
const step = await ort.InferenceSession.create("$step");

async function decode(ids) {
  const source = new ort.Tensor("int32", Int32Array.from(ids), [1, ids.length]);
  const encoded = { ...(await encoder.run({ source })) };
  const tokens = [];
  let token = $bos;
  while (tokens.length < $steps) {
    encoded.tokens = new ort.Tensor("int32", Int32Array.of(token), [1]);
    const answer = await step.run(encoded);
    const logits = answer.logits.data.subarray($eos); // pad and bos are never written
    token = $eos + logits.reduce((best, logit, id) => (logit > logits[best] ? id : best), 0);
    if (token === $eos) break;
    tokens.push(token);
    Object.assign(encoded, { $carried });
  }
  return tokens;
}""")


def onnx_calls(file: str, steps: int) -> dict[str, str]:
    """language -> the loop of `file`, which writes at most `steps` tokens."""
    templates = {"C++": _CPP_LOOP, "JavaScript": _JS_LOOP}
    return {
        language: template.substitute(_IDS, file=file, steps=steps)
        for language, template in templates.items()
    }


def onnx_step_calls(
    encoder: str, step: str, signatures: HostSignatures, steps: int
) -> dict[str, str]:
    """language -> a loop of the app's own over two files, which writes at most `steps` tokens."""
    carried = zip(signatures.states, signatures.next_states, strict=True)
    names = {
        "encoder": encoder,
        "step": step,
        "steps": steps,
        "vocabulary": signatures.vocab_target,
        "encoded": _quoted([*signatures.states, *signatures.kept]),
        "next": _quoted(signatures.next_states),
        "carried": ", ".join(f"{state}: answer.{new}" for state, new in carried),
    }
    templates = {"C++": _CPP_STEPS, "JavaScript": _JS_STEPS}
    return {
        language: template.substitute(_IDS, **names) for language, template in templates.items()
    }


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
