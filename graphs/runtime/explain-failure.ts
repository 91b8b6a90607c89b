/** Explains to a user why a graph failed: an unreachable host, a file that is not a video. */
import { connect } from "node:net";
import { maskCredentials } from "../../schemas/mask.ts";
import type { GraphPlan } from "../compiler/plan.ts";
import type { GraphFailure } from "./events.ts";
import { recogniseFile } from "./file-kind.ts";
import { listSourceFiles } from "./sources.ts";

/** Of `gsterror.h`; the texts of these errors depend on the language of the machine. */
const STREAM_DOMAIN = "gst-stream-error-quark";
const STREAM = { typeNotFound: 4, wrongType: 5, codecNotFound: 6, decode: 7, demux: 9 } as const;
const CORE_DOMAIN = "gst-core-error-quark";
const MISSING_PLUGIN = 12;
/** `GST_FLOW_NOT_LINKED`. */
const NOT_LINKED = -1;

/** The flow return with which a source stopped, which GStreamer only writes to the debug text. */
function flowOf({ debug }: GraphFailure): number | null {
  const code = /streaming stopped, reason [a-z-]+ \((-\d+)\)/.exec(debug)?.[1];
  return code === undefined ? null : Number(code);
}

/** It fails because of the content of the file, or because no plugin plays it. */
function isFileFault(failure: GraphFailure, file: string): boolean {
  const { domain, code } = failure.gst ?? { domain: "", code: 0 };
  if (domain === CORE_DOMAIN) return code === MISSING_PLUGIN;
  if (domain !== STREAM_DOMAIN) return false;
  // Links of the graph that do not fit the stream are of the same type.
  if (code === STREAM.wrongType) return recogniseFile(file) !== null;
  return (
    ([STREAM.typeNotFound, STREAM.codecNotFound, STREAM.decode, STREAM.demux] as number[]).includes(code) ||
    flowOf(failure) !== null
  );
}

export async function explainFailure(failure: GraphFailure, plan: GraphPlan): Promise<string> {
  const live = /cannot play (\S+): (.*)$/s.exec(failure.message);
  if (live !== null) return explainLive(live[1] ?? "", live[2] ?? "", plan.source?.uri ?? null);
  const files = listSourceFiles(plan);
  const [file] = files;
  const isAtSource = failure.node === "source" || failure.node === "decode" || failure.node === plan.source?.uri;
  if (file !== undefined && files.length === 1 && (isAtSource || isFileFault(failure, file)))
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
  if (failure.gst?.domain === STREAM_DOMAIN && failure.gst.code === STREAM.typeNotFound)
    return `${file} is not a video: its content is of an unknown type`;
  if (flowOf(failure) === NOT_LINKED) return `${file} has no video stream, or none that can be played`;
  const missing = /missing (?:decoder|element|plugin):? ?([^\n(]+)/i.exec(`${failure.message} ${failure.debug}`)?.[1];
  if (missing !== undefined) return `${file} cannot be played: no decoder for ${missing.trim()} is installed`;
  const reason = failure.node === null ? failure.message : failure.message.slice(`${failure.node}: `.length);
  return `${file} cannot be played: ${reason}`;
}

const LIMIT_MS = 2_000;
const PORTS: Readonly<Record<string, number>> = { "rtsp:": 554, "rtsps:": 322, "rtmp:": 1935, "rtmps:": 443 };

/** Why a host is unreachable, which GStreamer's RTSP client does not report; null when it is reachable. */
export async function findReachFault(url: string): Promise<string | null> {
  const { hostname, port, protocol } = new URL(url);
  // Over UDP, a connection proves nothing.
  if (PORTS[protocol] === undefined) return null;
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
