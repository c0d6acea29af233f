// Turns rows of ids into a checked tensor `source`. The files check nothing themselves.

import ort from "onnxruntime-node";

import { InputError } from "./input_error.mjs";

export const PAD = 0;
export const BOS = 1;
export const EOS = 2;

const FIX = "Fix: give one list of ids a sequence, such as [[5, 9, 2], [7, 2]].";

/**
 * `source` int32 (batch, T_enc), rows padded with 0 to the longest.
 *
 * @param {number[][]} rows one list of ids a sequence; an empty one is a row of padding.
 * @param {number} vocabSource ids must be below it; no id is where it is not known.
 * @throws {InputError} not lists of whole numbers, no row, no position, or an id outside the
 *   vocabulary; the message names the row and the id.
 */
export function sourceBatch(rows, vocabSource) {
  if (!Array.isArray(rows) || rows.length === 0 || !rows.every(Array.isArray)) {
    throw new InputError(`source: expected a list of lists of ids. ${FIX}`);
  }
  const width = Math.max(...rows.map((row) => row.length));
  if (width === 0) {
    throw new InputError(`source: expected at least one id, got rows without any. ${FIX}`);
  }
  const ids = new Int32Array(rows.length * width).fill(PAD);
  rows.forEach((row, index) => {
    row.forEach((id, position) => {
      if (!Number.isInteger(id) || id < 0 || !(id < vocabSource)) {
        throw new InputError(
          `source: row ${index} has ${JSON.stringify(id)} at position ${position}; expected ids ` +
            `from 0 to ${vocabSource - 1}. Fix: use the vocabulary that the model was trained with.`,
        );
      }
    });
    ids.set(row, index * width);
  });
  return new ort.Tensor("int32", ids, [rows.length, width]);
}
