/** Why a graph failed, in words for whoever started it. */

import { maskCredentials } from "../../schemas/mask.ts";
import type { GraphPlan } from "../compiler/plan.ts";
import type { GraphFailure } from "./events.ts";
import { findReachFault } from "./reach.ts";
import { listSourceFiles, recogniseFile } from "./source-files.ts";

/** Words of GStreamer's for: this is no video, or none that can be played. */
const NO_VIDEO =
  /could not determine type|appears to be a text file|internal data (stream|flow) error|not-linked|no playable streams|could not demultiplex|stream contains no data|cannot be played|invalid or corrupt|missing a plug-in|missing plug-?in|no suitable plugins|can't typefind|doesn't contain enough data|delayed linking failed/i;

export async function explainFailure(failure: GraphFailure, plan: GraphPlan): Promise<string> {
  const live = /cannot play (\S+): (.*)$/s.exec(failure.message);
  if (live !== null) return explainLive(live[1] ?? "", live[2] ?? "", plan.source?.uri ?? null);
  const files = listSourceFiles(plan);
  const [file] = files;
  const isAtSource = failure.node === "source" || failure.node === "decode" || failure.node === plan.source?.uri;
  if (file !== undefined && files.length === 1 && (isAtSource || NO_VIDEO.test(failure.message + failure.debug)))
    return explainFile(file, failure);
  return maskCredentials(failure.message);
}

/** `shown` is the address without its password, which is the only one to be printed. */
async function explainLive(shown: string, reason: string, url: string | null): Promise<string> {
  const isSame = url !== null && maskCredentials(url) === shown;
  const isVague = /cannot be reached|could not (open|read|write)|internal data stream error/i.test(reason);
  const found = isVague && isSame ? await findReachFault(url) : null;
  const outage = /^no video for .*giving up; last: /.exec(reason)?.[0] ?? "";
  return `cannot play ${shown}: ${found === null ? reason : outage + found}`;
}

function explainFile(file: string, failure: GraphFailure): string {
  const kind = recogniseFile(file);
  if (kind !== null) return `${file} is no video but ${kind}`;
  const text = `${failure.message} ${failure.debug}`;
  if (/could not determine type|can't typefind/i.test(text))
    return `${file} is no video: its content is of no known kind`;
  if (/not-linked/i.test(text)) return `${file} has no video in it, or none that can be played`;
  const missing = /missing (?:decoder|element|plugin):? ?([^\n(]+)/i.exec(text)?.[1];
  if (missing !== undefined) return `${file} cannot be played: nothing here can decode ${missing.trim()}`;
  const reason = failure.node === null ? failure.message : failure.message.slice(`${failure.node}: `.length);
  return `${file} cannot be played: ${reason}`;
}
