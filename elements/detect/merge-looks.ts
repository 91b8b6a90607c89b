/** One list of what several looks at a frame have found. */
import type { Candidates } from "../../models/decode/decoder.ts";
import { mergeTiles } from "../../models/decode/merge.ts";
import type { Region } from "./looks.ts";

/** Objects of a frame at most. */
const MOST_OBJECTS = 1000;

interface Size {
  readonly width: number;
  readonly height: number;
}

/** All in pixels of the frame. */
export function mergeLooks(
  lists: readonly Candidates[],
  regions: readonly Region[],
  frame: Size,
  overlap: number,
): Candidates {
  const [only] = lists;
  if (lists.length === 1 && only !== undefined) return only;
  const tiles = regions.flatMap(({ x, y, width, height }, index) => {
    const candidates = lists[index];
    if (candidates === undefined) return [];
    const edges = {
      left: x * frame.width,
      top: y * frame.height,
      right: (x + width) * frame.width,
      bottom: (y + height) * frame.height,
    };
    return [{ ...edges, candidates }];
  });
  return mergeTiles(tiles, frame, overlap, MOST_OBJECTS);
}
