// The split form of an exported model: `encoder.onnx` once a batch, `decoder_step.onnx` each step.

import { join } from "node:path";

import ort from "onnxruntime-node";

import { openSession } from "./session.mjs";

const NEXT = "next_";

export class SplitModel {
  #encoder;
  #step;

  /** Use `SplitModel.open`, which loads the files. */
  constructor(encoder, step) {
    this.#encoder = encoder;
    this.#step = step;
  }

  /**
   * @param {string} folder the folder that holds both files.
   * @param {boolean} int8 take `encoder.int8.onnx` and `decoder_step.int8.onnx`.
   * @throws {InputError} as `openSession`.
   */
  static async open(folder, int8 = false) {
    const ending = int8 ? ".int8.onnx" : ".onnx";
    return new SplitModel(
      await openSession(join(folder, `encoder${ending}`)),
      await openSession(join(folder, `decoder_step${ending}`)),
    );
  }

  /** The states, the mask, and what the steps attend to, by name. */
  async encode(source) {
    return { ...(await this.#encoder.run({ source })) };
  }

  /**
   * One step for every row.
   *
   * @param {Int32Array} tokens (batch,) the ids before; the first ones are bos.
   * @param encoded what `encode` answered, with the states of the step before.
   * @returns `logits` (batch, vocab_target), `alignments` (batch, T_enc), and the next states
   *   under the names that the step takes them by.
   */
  async step(tokens, encoded) {
    const answer = await this.#step.run({
      ...encoded,
      tokens: new ort.Tensor("int32", tokens, [tokens.length]),
    });
    // an ONNX graph has no input and output of one name
    return Object.fromEntries(
      Object.entries(answer).map(([name, tensor]) => [
        name.startsWith(NEXT) ? name.slice(NEXT.length) : name,
        tensor,
      ]),
    );
  }
}
