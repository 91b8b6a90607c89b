/** `eval clip --every --decode --tiles`: what fewer inferences and decoded frames cost, for the tracks of all frames. */
import { UsageFault } from "../../../cli/command.ts";
import { alignTable, formatRate, type Paint } from "../../../cli/text.ts";
import type { Every } from "../../../elements/detect/schedule.ts";
import type { FrameBoxes } from "../metrics/compare.ts";
import { toPercent } from "../mot/report.ts";
import { type ClipRun, DECODED, type Decoded, type Tiling } from "./run-clip.ts";
import { scoreClip } from "./score-clip.ts";

const MOST = 10;
const LARGEST = 1000;

/** Values of the property `every`, separated by commas. Throws `UsageFault`. */
export function readEvery(text: string): readonly Every[] {
  const values = text.split(",").map((word): Every => {
    if (word === "auto" || word === "motion") return word;
    const number = /^\d{1,4}$/.test(word) ? Number(word) : 0;
    if (number >= 1 && number <= LARGEST) return number;
    throw new UsageFault(
      `--every has "${word}"; expected whole numbers from 1 to ${LARGEST}, auto or motion, separated by commas: 1,5,motion`,
    );
  });
  if (values.length > MOST) throw new UsageFault(`--every has ${values.length} values; expected up to ${MOST}`);
  return values;
}

/** Values of the param `decode` of the graph, separated by commas. Throws `UsageFault`. */
export function readDecode(text: string): readonly Decoded[] {
  return text.split(",").map((word) => {
    const known = DECODED.find((value) => value === word);
    if (known === undefined)
      throw new UsageFault(`--decode has "${word}"; expected ${DECODED.join(", ")}, separated by commas`);
    return known;
  });
}

/** Values of the property `tiles`, separated by commas. Throws `UsageFault`. */
export function readTiles(text: string): readonly Tiling[] {
  return text.split(",").map((word): Tiling => {
    if (word === "none" || word === "motion") return word;
    const [, columns, rows] = /^([1-9]\d?)x([1-9]\d?)$/.exec(word) ?? [];
    if (columns !== undefined && rows !== undefined) return { columns: Number(columns), rows: Number(rows) };
    throw new UsageFault(
      `--tiles has "${word}"; expected none, motion, or columns and rows, as in 3x2; separated by commas`,
    );
  });
}

const nameTiles = (tiles: Tiling): string => (typeof tiles === "string" ? tiles : `${tiles.columns}x${tiles.rows}`);

/** Settings of a run. */
export interface Compared {
  readonly every: Every;
  readonly decode: Decoded;
  readonly tiles: Tiling;
}

/** Shares are from 0 to 1. */
export interface EveryScores extends Compared {
  readonly decoded: number;
  /** Frames with inference. */
  readonly inferred: number;
  /** Per frame of the clip. */
  readonly inferences: number;
  readonly recall: number;
  /** Of the boxes of tracks, with those that are predicted. */
  readonly ap50: number;
  readonly hota: number;
  readonly mota: number;
  readonly switches: number;
  readonly framesPerSecond: number;
  /** Per frame of the clip. */
  readonly cpuMs: number;
}

interface Truth {
  readonly truth: readonly FrameBoxes[];
  readonly unscored: readonly FrameBoxes[];
  readonly className: string;
}

/** The whole run counts as inferred; only frames of the ground truth are scored. */
export function scoreEvery(compared: Compared, run: ClipRun, { truth, unscored, className }: Truth): EveryScores {
  const frames = run.frames.slice(0, truth.length).map((frame) => ({ ...frame, detections: frame.tracks }));
  const last = frames.at(-1);
  // The end of a clip that is not decoded to its last frame.
  while (compared.decode !== "all" && last !== undefined && frames.length < truth.length) frames.push(last);
  const { ap50, tracking } = scoreClip(String(compared.every), truth, frames, className, unscored);
  const boxes = truth.reduce((sum, { ids }) => sum + ids.length, 0);
  return {
    ...compared,
    decoded: run.decoded / run.frames.length,
    inferred: run.inferred / run.frames.length,
    inferences: run.inferences / run.frames.length,
    recall: boxes === 0 ? 0 : 1 - tracking.missed / boxes,
    ap50,
    hota: tracking.hota,
    mota: tracking.mota,
    switches: tracking.switches,
    framesPerSecond: run.framesPerSecond,
    cpuMs: run.cpuMs,
  };
}

export const toJson = ({
  every,
  decode,
  tiles,
  inferences,
  framesPerSecond,
  cpuMs,
  switches,
  ...shares
}: EveryScores) => ({
  every,
  decode,
  tiles: nameTiles(tiles),
  decoded: toPercent(shares.decoded),
  inferred: toPercent(shares.inferred),
  inferences: Math.round(inferences * 100) / 100,
  recall: toPercent(shares.recall),
  AP50: toPercent(shares.ap50),
  HOTA: toPercent(shares.hota),
  MOTA: toPercent(shares.mota),
  IDSW: switches,
  framesPerSecond: Math.round(framesPerSecond * 10) / 10,
  cpuMs: Math.round(cpuMs * 100) / 100,
});

export function formatEvery(scores: readonly EveryScores[], paint: Paint): string {
  const heads = [
    "every",
    "decode",
    "tiles",
    "decoded",
    "inferred",
    "inferences",
    "recall",
    "AP50",
    "HOTA",
    "MOTA",
    "IDSW",
    "frames/s",
    "CPU ms",
  ];
  const rows = scores.map(
    ({ every, decode, tiles, decoded, inferred, inferences, recall, ap50, hota, mota, ...rest }) => [
      String(every),
      decode,
      nameTiles(tiles),
      ...[decoded, inferred].map((share) => (share * 100).toFixed(1)),
      inferences.toFixed(2),
      ...[recall, ap50, hota, mota].map((share) => (share * 100).toFixed(1)),
      String(rest.switches),
      formatRate(rest.framesPerSecond),
      rest.cpuMs.toFixed(2),
    ],
  );
  return alignTable(heads, rows, paint);
}
