// Decodes rows of ids with an exported model, greedily:
//
//   echo '[[5, 9, 2], [7, 2]]' | node decode.mjs FOLDER            the loop is step_loop.mjs
//   echo '[[5, 9, 2], [7, 2]]' | node decode.mjs FOLDER --int8     the same, int8 weights
//   echo '[[5, 9, 2], [7, 2]]' | node decode.mjs FOLDER/model.onnx the loop in the file
//
// FOLDER is what `attention-zoo export ... --format onnx-split` wrote. Prints a line of JSON:
// {"tokens": [[...], ...], "scores": [...]}, eos included where it was written.

import { dirname } from "node:path";
import { text } from "node:stream/consumers";

import { InputError } from "./input_error.mjs";
import { readManifest } from "./manifest.mjs";
import { openSession } from "./session.mjs";
import { sourceBatch } from "./source_batch.mjs";
import { SplitModel } from "./split_model.mjs";
import { stepLoop } from "./step_loop.mjs";

const USAGE = "node decode.mjs FOLDER [--int8] < rows.json, or node decode.mjs FILE.onnx";

async function main() {
  const int8 = process.argv.includes("--int8");
  const [path, ...more] = process.argv.slice(2).filter((word) => word !== "--int8");
  if (path === undefined || more.length > 0) throw new InputError(`Usage: ${USAGE}`);
  const isFile = path.endsWith(".onnx");
  if (isFile && int8) {
    throw new InputError(
      `${path}: a file, and --int8 chooses those of a folder; expected one of the two. ` +
        "Fix: leave --int8 out, or name the folder.",
    );
  }
  const { vocabSource, maxLength } = await readManifest(isFile ? dirname(path) : path);
  const source = sourceBatch(parsed(await text(process.stdin)), vocabSource);
  const answer = isFile
    ? await loopInside(path, source)
    : await stepLoop(await SplitModel.open(path, int8), source, maxLength);
  console.log(JSON.stringify(answer));
}

function parsed(rows) {
  try {
    return JSON.parse(rows);
  } catch (error) {
    throw new InputError(`stdin: not JSON (${error.message}). Fix: give lists of ids, [[5, 9, 2]].`);
  }
}

/** The answer of a file that holds the loop: its rows cut at their lengths. */
async function loopInside(path, source) {
  const session = await openSession(path);
  if (!session.outputNames.includes("tokens")) {
    throw new InputError(
      `${path}: it does not decode; expected an output tokens, got ` +
        `${session.outputNames.join(", ")}. Fix: name the folder, or model.onnx.`,
    );
  }
  const { tokens, lengths, scores } = await session.run({ source }, ["tokens", "lengths", "scores"]);
  const width = tokens.dims[1]; // T_dec
  return {
    tokens: Array.from(lengths.data, (length, row) =>
      Array.from(tokens.data.subarray(row * width, row * width + length)),
    ),
    scores: Array.from(scores.data),
  };
}

main().catch((error) => {
  console.error(error instanceof InputError ? error.message : error);
  process.exitCode = error instanceof InputError ? 2 : 1;
});
