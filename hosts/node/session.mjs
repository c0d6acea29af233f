import ort from "onnxruntime-node";

import { InputError } from "./input_error.mjs";

const ERRORS = 3;

/**
 * An onnxruntime session on the CPU, which prints errors alone.
 *
 * @throws {InputError} the file is missing, or onnxruntime does not accept it.
 */
export async function openSession(path) {
  try {
    return await ort.InferenceSession.create(path, { logSeverityLevel: ERRORS });
  } catch (error) {
    throw new InputError(
      `${path}: onnxruntime cannot load it (${error.message}). Fix: give the folder or a file ` +
        "that `attention-zoo export ... --format onnx-split` (or onnx) wrote.",
    );
  }
}
