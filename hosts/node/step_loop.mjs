// Greedy decoding driven from outside the files. It is attention_zoo/export/step_loop.py again.

import { BOS, EOS, PAD } from "./source_batch.mjs";

/**
 * @param {SplitModel} model what encodes and steps.
 * @param source int32 tensor (batch, T_enc).
 * @param {number} maxLength steps at most.
 * @returns {Promise<{tokens: number[][], scores: number[]}>} a row: its ids, eos included if it
 *   was written, and the sum of their log probabilities.
 */
export async function stepLoop(model, source, maxLength) {
  const batch = source.dims[0];
  const encoded = await model.encode(source);
  const rows = Array.from({ length: batch }, () => []);
  const scores = new Array(batch).fill(0);
  const ended = new Array(batch).fill(false);
  const tokens = new Int32Array(batch).fill(BOS);
  for (let step = 0; step < maxLength && !ended.every(Boolean); step += 1) {
    const answer = await model.step(tokens, encoded);
    for (const name of Object.keys(answer)) {
      if (name.startsWith("state_")) encoded[name] = answer[name];
    }
    const width = answer.logits.dims[1]; // vocab_target
    for (let row = 0; row < batch; row += 1) {
      if (ended[row]) {
        tokens[row] = PAD;
        continue;
      }
      const logits = answer.logits.data.subarray(row * width, (row + 1) * width);
      const best = likeliest(logits);
      tokens[row] = best;
      rows[row].push(best);
      scores[row] += logits[best] - logSumExp(logits);
      ended[row] = best === EOS;
    }
  }
  return { tokens: rows, scores };
}

/** The id with the largest logit; pad and bos, the first two, are never written. */
function likeliest(logits) {
  let best = EOS;
  for (let id = EOS + 1; id < logits.length; id += 1) {
    if (logits[id] > logits[best]) best = id;
  }
  return best;
}

function logSumExp(logits) {
  const largest = logits.reduce((one, other) => Math.max(one, other), -Infinity);
  return largest + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0));
}
