/** Scripts for script.fixture.mjs: failures without test code in the product. */
import type { Model } from "../../../models/open.ts";
import { testModel } from "../detect.fixture.ts";

const ACTS = ["well", "fail", "throw", "hang", "exit", "refuse", "stick"] as const;
export type Act = (typeof ACTS)[number];

export const SCRIPTED_WORKER = new URL("script.fixture.mjs", import.meta.url);

/** A model for the scripted worker. The acts apply to its starts and requests in order. */
export function scriptModel(...script: readonly Act[]): Model {
  const words = new Int32Array(new SharedArrayBuffer(4 * (1 + script.length)));
  words.set([0, ...script.map((act) => ACTS.indexOf(act))]);
  return Object.assign(testModel("none.onnx", {}), { script: words.buffer });
}
