/** Explains to a user why a graph failed: an unreachable host, a file that is not a video. */
import { connect } from "node:net";
import { maskCredentials } from "../../schemas/mask.ts";
import type { GraphPlan } from "../compiler/plan.ts";
import type { GraphFailure } from "./events.ts";
import { recogniseFile } from "./file-kind.ts";
import { listSourceFiles } from "./sources.ts";

/** GStreamer's messages for files that are not videos or cannot be played. */
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

/** `shown` is the address without credentials, for messages. */
async function explainLive(shown: string, reason: string, url: string | null): Promise<string> {
  const isSame = url !== null && URL.canParse(url) && maskCredentials(url) === shown;
  const isVague = /cannot be reached|could not (open|read|write)|internal data stream error/i.test(reason);
  const found = isVague && isSame ? await findReachFault(url) : null;
  const outage = /^no video for .*giving up; last: /.exec(reason)?.[0] ?? "";
  return `cannot play ${shown}: ${found === null ? reason : outage + found}`;
}

function explainFile(file: string, failure: GraphFailure): string {
  const kind = recogniseFile(file);
  if (kind !== null) return `${file} is not a video but ${kind}`;
  const text = `${failure.message} ${failure.debug}`;
  if (/could not determine type|can't typefind/i.test(text))
    return `${file} is not a video: its content is of an unknown type`;
  if (/not-linked/i.test(text)) return `${file} has no video stream, or none that can be played`;
  const missing = /missing (?:decoder|element|plugin):? ?([^\n(]+)/i.exec(text)?.[1];
  if (missing !== undefined) return `${file} cannot be played: no decoder for ${missing.trim()} is installed`;
  const reason = failure.node === null ? failure.message : failure.message.slice(`${failure.node}: `.length);
  return `${file} cannot be played: ${reason}`;
}

const LIMIT_MS = 2_000;
const PORTS: Readonly<Record<string, number>> = { "rtsp:": 554, "rtsps:": 322, "rtmp:": 1935, "rtmps:": 443 };

/** Why a host is unreachable, which GStreamer's RTSP client does not report; null when it is reachable. */
export function findReachFault(url: string): Promise<string | null> {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const number = port === "" ? (PORTS[protocol] ?? 0) : Number(port);
  return new Promise((resolve) => {
    const socket = connect({ host, port: number, timeout: LIMIT_MS });
    const settle = (reason: string | null): void => {
      socket.destroy();
      resolve(reason);
    };
    socket.once("connect", () => settle(null));
    socket.once("timeout", () => settle(`${host}:${number} does not answer`));
    socket.once("error", (error: NodeJS.ErrnoException) => settle(describe(error, host, number)));
  });
}

function describe(error: NodeJS.ErrnoException, host: string, port: number): string {
  switch (error.code) {
    case "ECONNREFUSED":
      return `connection refused: nothing listens at ${host}:${port}`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `the host name ${host} cannot be resolved`;
    case "ECONNRESET":
      return `${host}:${port} closes the connection: is this the right port?`;
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return `${host} is unreachable from this network`;
    default:
      return error.message;
  }
}
