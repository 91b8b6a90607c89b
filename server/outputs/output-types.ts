/** The output types. Registration, routing, rerouting and the slots that only the service attaches follow from this table. */
import type { OUTPUT_TYPES } from "../../schemas/api/outputs.ts";
import { readCotTarget } from "../../schemas/cot-target.ts";
import { readMqttTarget } from "../../schemas/mqtt-target.ts";
import { readTransportTarget } from "../../schemas/transport-target.ts";

export interface OutputType {
  /** Served by the media hub; sent to a host that the user names; or part of the messages of the process, without a slot. */
  readonly target: "hub" | "remote" | "messages";
  /** Encoded video: `settings` is its resolution, and it has a codec. */
  readonly hasVideo: boolean;
  /** Of video: objects are metadata, and drawn on request only. */
  readonly isPlain?: boolean;
  /** Its slot has a param for the uuid of the source. */
  readonly namesSource?: boolean;
  /** What is wrong with a URL that its schema accepts. */
  checkUrl?(url: string): string | null;
}

export const OUTPUT_TYPE: Readonly<Record<(typeof OUTPUT_TYPES)[number], OutputType>> = {
  rtsp: { target: "hub", hasVideo: true },
  rtmp: { target: "remote", hasVideo: true },
  srt: { target: "remote", hasVideo: true, checkUrl: checkTransport },
  detection_data: { target: "messages", hasVideo: false },
  drone_data: { target: "messages", hasVideo: false },
  cot: { target: "remote", hasVideo: false, checkUrl: (url) => faultOf(readCotTarget(url)) },
  mqtt: { target: "remote", hasVideo: false, namesSource: true, checkUrl: (url) => faultOf(readMqttTarget(url)) },
  mpegts: { target: "remote", hasVideo: true, isPlain: true, checkUrl: checkTransport },
};

/** Named like their types. */
export const OUTPUT_SLOTS: readonly string[] = Object.entries(OUTPUT_TYPE)
  .filter(([, { target }]) => target !== "messages")
  .map(([type]) => type);

function checkTransport(url: string): string | null {
  const target = readTransportTarget(url);
  if (typeof target === "string") return target;
  const secrets = target.scheme === "srt" ? [target.streamId, target.passphrase] : [];
  const isMasked = secrets.some((text) => text?.includes("***") === true);
  return isMasked ? "has masked secrets (***); send the real ones" : null;
}

function faultOf(target: object | string): string | null {
  return typeof target === "string" ? target : null;
}

/** Whether objects are drawn by default. */
export const hasBoxes = (type: keyof typeof OUTPUT_TYPE): boolean => OUTPUT_TYPE[type].isPlain !== true;
