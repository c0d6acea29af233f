import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { InputError } from "./input_error.mjs";

const FIX = "Fix: name a folder that `attention-zoo export` wrote, or export the model again.";

/**
 * What decoding needs to know of an exported folder.
 *
 * @returns {Promise<{vocabSource: number, maxLength: number}>} ids of a source are below the one;
 *   the other is the most steps.
 * @throws {InputError} `manifest.json` is missing, or is not one that an export wrote.
 */
export async function readManifest(folder) {
  const path = join(folder, "manifest.json");
  let content;
  try {
    content = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    throw new InputError(`${path}: cannot be read (${error.message}). ${FIX}`);
  }
  return {
    vocabSource: size(content, "config", "vocab_source", path),
    maxLength: size(content, "decoding", "max_length", path),
  };
}

function size(content, part, name, path) {
  const value = content?.[part]?.[name];
  if (!Number.isInteger(value) || value < 1) {
    throw new InputError(
      `${path}: ${part}.${name} is ${JSON.stringify(value) ?? "missing"}; expected a whole number ` +
        `of at least 1. ${FIX}`,
    );
  }
  return value;
}
