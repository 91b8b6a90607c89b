/** What the detector and its worker say to each other. */

import type { Candidates } from "../../../models/decode/decoder.ts";
import type { Model } from "../../../models/open.ts";

export interface WorkerSettings {
  readonly model: Model;
  /** Of onnxruntime, within one inference. */
  readonly threads: number;
  readonly providers: readonly string[];
  /** Tensors that are filled by the detector and copied by the worker, which cannot run on shared memory. */
  readonly slots: readonly SharedArrayBuffer[];
  readonly gate: SharedArrayBuffer;
}

/** Look at what is in that slot. */
export interface Order {
  readonly id: number;
  readonly slot: number;
  /** Scores below it are not wanted. */
  readonly minimum: number;
  /** Boxes of one class that overlap more are one object. */
  readonly overlap: number;
}

export type Answer =
  | { readonly kind: "ready"; readonly inferenceMs: number; readonly warnings: readonly string[] }
  /** It will never work: the model does not fit, or the provider is not there. */
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "found"; readonly id: number; readonly candidates: Candidates; readonly inferenceMs: number }
  | { readonly kind: "failed"; readonly reason: string };
