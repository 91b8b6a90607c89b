/** A clip as an endless stream: after the last picture comes the first, with continuous timestamps. */

import { setTimeout as wait } from "node:timers/promises";
import type { AccessUnit, Tracks } from "../media/access-unit.ts";
import { NAL, nalType, splitStartCodes } from "../media/h264/nal.ts";
import { readSps } from "../media/h264/sps.ts";
import { publishRtsp } from "../media/rtsp/publisher.ts";

/** A start code and a delimiter: unambiguous in a byte stream. */
const DELIMITER = Buffer.from([0, 0, 1, NAL.delimiter]);
/** Not needed by players. */
const LEFT_OUT: readonly number[] = [NAL.delimiter, NAL.filler];

interface Picture {
  readonly parts: readonly Uint8Array[];
  readonly isKey: boolean;
}

export class LoopedClip {
  readonly tracks: Tracks;
  readonly #pictures: readonly Picture[];
  readonly #fps: number;

  /** @param bytes as written by `convertClip`; throws for anything else */
  constructor(bytes: Uint8Array, fps: number) {
    this.#pictures = splitPictures(bytes);
    this.#fps = fps;
    const [first] = this.#pictures;
    const [sps, pps] = [NAL.sps, NAL.pps].map((type) => first?.parts.find((nal) => nalType(nal) === type));
    if (first?.isKey !== true || sps === undefined || pps === undefined)
      throw new Error("the clip does not begin with a keyframe");
    const { width, height } = readSps(sps);
    this.tracks = { video: { codec: "h264", sps, pps, width, height, reorders: false }, audio: null };
  }

  /** Number of pictures in one loop. */
  get pictures(): number {
    return this.#pictures.length;
  }

  /** Time of a picture from the start of the stream. */
  dueMs(index: number): number {
    return (index * 1000) / this.#fps;
  }

  /** `index` counts on through all loops. */
  unit(index: number, captureMs: number): AccessUnit {
    const picture = this.#pictures[index % this.#pictures.length];
    if (picture === undefined) throw new Error(`invalid picture index ${index}`);
    const ptsUs = Math.round(this.dueMs(index) * 1000);
    return { kind: "video", dtsUs: ptsUs, ptsUs, captureMs, ...picture };
  }
}

function splitPictures(bytes: Uint8Array): readonly Picture[] {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const pictures: Picture[] = [];
  let begin = view.indexOf(DELIMITER);
  while (begin !== -1) {
    const end = view.indexOf(DELIMITER, begin + DELIMITER.length);
    const parts = splitStartCodes(view.subarray(begin, end === -1 ? view.length : end)).filter(
      (nal) => !LEFT_OUT.includes(nalType(nal)),
    );
    pictures.push({ parts, isKey: parts.some((nal) => nalType(nal) === NAL.idr) });
    begin = end;
  }
  return pictures;
}

/** After a longer pause (a machine that slept) publishing resumes where it was, without sending the backlog. */
const MOST_LATE_MS = 500;

/** Publishes in real time. Resolves with the reason when the server closes the session; rejects if publishing fails. */
export async function publishClip(clip: LoopedClip, url: string, onPublishing: () => void): Promise<string> {
  const publisher = await publishRtsp(url, clip.tracks);
  let reason: string | null = null;
  void publisher.closed.then((why) => {
    reason = why;
  });
  onPublishing();
  let beganMs = performance.now();
  for (let index = 0; reason === null; index++) {
    publisher.send(clip.unit(index, Date.now()));
    const leftMs = beganMs + clip.dueMs(index + 1) - performance.now();
    if (leftMs < -MOST_LATE_MS) beganMs -= leftMs;
    // Always yields to the event loop, however late it is, so that messages of the server are handled.
    await wait(Math.max(0, leftMs));
  }
  return reason;
}
