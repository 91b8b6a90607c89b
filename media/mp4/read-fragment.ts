/** What a `moof` tells. For the kinds of boxes that we write. */
import { MediaFault } from "../fault.ts";
import { readBoxes } from "./read-boxes.ts";

export interface FragmentRun {
  readonly trackId: number;
  /** In ticks of its track, as all times here. */
  readonly time: number;
  readonly duration: number;
  /** When the last of it has been shown. */
  readonly end: number;
  readonly samples: number;
  readonly bytes: number;
  readonly isKey: boolean;
}

const NON_SYNC = 0x10000;

/** `content`: of the box. */
export function readMoof(content: Uint8Array): FragmentRun[] {
  return readBoxes(content)
    .filter(({ type }) => type === "traf")
    .map((traf) => readTraf(traf.content));
}

function readTraf(content: Buffer): FragmentRun {
  const boxes = readBoxes(content);
  const find = (type: string, least: number): Buffer => {
    const box = boxes.find((other) => other.type === type);
    if (box === undefined || box.content.length < least) throw new MediaFault(`a fragment without ${type}`);
    return box.content;
  };
  const tfdt = find("tfdt", 12);
  const time = tfdt.readUInt32BE(4) * 2 ** 32 + tfdt.readUInt32BE(8);
  return { trackId: find("tfhd", 8).readUInt32BE(4), time, ...readTrun(find("trun", 12), time) };
}

function readTrun(content: Buffer, time: number): Omit<FragmentRun, "trackId" | "time"> {
  const fields = content.readUInt32BE(0) & 0xffffff;
  const samples = content.readUInt32BE(4);
  const hasFlags = (fields & 0x400) !== 0;
  const hasOffsets = (fields & 0x800) !== 0;
  const entryBytes = 8 + (hasFlags ? 4 : 0) + (hasOffsets ? 4 : 0);
  if ((fields & 0x301) !== 0x301 || content.length < 12 + samples * entryBytes)
    throw new MediaFault("a fragment whose samples are not told as ours are");
  let duration = 0;
  let bytes = 0;
  let end = time;
  for (let i = 0, at = 12; i < samples; i++, at += entryBytes) {
    const offset = hasOffsets ? content.readUInt32BE(at + entryBytes - 4) : 0;
    duration += content.readUInt32BE(at);
    bytes += content.readUInt32BE(at + 4);
    end = Math.max(end, time + duration + offset);
  }
  const isKey = samples > 0 && (!hasFlags || (content.readUInt32BE(20) & NON_SYNC) === 0);
  return { duration, end, samples, bytes, isKey };
}
