/** A clip without an end: after its last picture comes its first, and time goes on. Pure. */
import type { AccessUnit, Tracks } from "../media/access-unit.ts";
import { NAL, nalType, splitStartCodes } from "../media/h264/nal.ts";
import { readSps } from "../media/h264/sps.ts";

/** A start code and a delimiter, which nothing else in a byte stream can look like. */
const DELIMITER = Buffer.from([0, 0, 1, NAL.delimiter]);
/** No player needs them. */
const LEFT_OUT: readonly number[] = [NAL.delimiter, NAL.filler];

interface Picture {
  readonly parts: readonly Uint8Array[];
  readonly isKey: boolean;
}

export class LoopedClip {
  readonly tracks: Tracks;
  readonly #pictures: readonly Picture[];
  readonly #framesASecond: number;

  /** @param bytes as `convertClip` writes them; throws for anything else */
  constructor(bytes: Uint8Array, framesASecond: number) {
    this.#pictures = splitPictures(bytes);
    this.#framesASecond = framesASecond;
    const [first] = this.#pictures;
    const [sps, pps] = [NAL.sps, NAL.pps].map((type) => first?.parts.find((nal) => nalType(nal) === type));
    if (first?.isKey !== true || sps === undefined || pps === undefined)
      throw new Error("the clip does not begin with a key picture");
    const { width, height } = readSps(sps);
    this.tracks = { video: { codec: "h264", sps, pps, width, height, reorders: false }, audio: null };
  }

  /** Of one round. */
  get pictures(): number {
    return this.#pictures.length;
  }

  /** When it is due, from the beginning on. */
  dueMs(index: number): number {
    return (index * 1000) / this.#framesASecond;
  }

  /** Any number from 0 on. */
  unit(index: number, captureMs: number): AccessUnit {
    const picture = this.#pictures[index % this.#pictures.length];
    if (picture === undefined) throw new Error(`there is no picture ${index}`);
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
