/** Whether boxes on a picture that was shown are where the service says, and whether it is that picture. */
import type { Page } from "playwright-core";
import type { DetectionMessage, TrackEntry } from "../../client/client.ts";
import { trackColour } from "../../console/components/format.ts";
import { type Colour, type Point, readPicture, readShown, toRgb } from "./shown-frames.fixture.ts";

type Box = TrackEntry["scaled_bbox"];

/** Of words on labels, all of which lie over all boxes. */
const INK: Colour = [16, 21, 28];
/** Of 255, for each of red, green and blue. */
const NEAR = { box: 6, blended: 24, picture: 8 };

const isNear = (one: Colour, other: Colour, most: number): boolean =>
  one.every((value, i) => Math.abs(value - (other[i] ?? 0)) <= most);
/** Of a label of this colour, words with their soft edges included. */
function isWritten(point: Colour, colour: Colour): boolean {
  const mixed = steps(16).map(
    (share) => INK.map((ink, i) => ink + share * ((colour[i] ?? 0) - ink)) as unknown as Colour,
  );
  return [colour, INK, ...mixed].some((one) => isNear(point, one, NEAR.blended));
}

const steps = (count: number) => Array.from({ length: count }, (_, i) => (i + 0.5) / count);

/** Along the four edges, as far as they are within the picture. */
function edgesOf([x, y, wide, high]: Box): readonly Point[] {
  const sides = steps(12).flatMap((step): Point[] => [
    ...[x, x + wide].map((at): Point => [at, y + step * high]),
    ...[y, y + high].map((at): Point => [x + step * wide, at]),
  ]);
  return sides.filter(([left, top]) => left > 0.005 && left < 0.995 && top > 0.005 && top < 0.995);
}

const insideOf = ([x, y, wide, high]: Box): readonly Point[] =>
  steps(5).flatMap((across) =>
    steps(8).map((down): Point => [x + (0.2 + across * 0.6) * wide, y + (0.2 + down * 0.6) * high]),
  );

export interface EdgeVerdict {
  readonly trackId: number;
  /** Points of its edges that no label or other box covers. */
  readonly seen: number;
  /** Those that have the track's colour. */
  readonly right: number;
}

export async function judgeEdges(page: Page, { timestamp, active_tracks }: DetectionMessage): Promise<EdgeVerdict[]> {
  const colours = await Promise.all(active_tracks.map(({ track_id }) => toRgb(page, trackColour(track_id))));
  return Promise.all(
    active_tracks.map(async ({ track_id, scaled_bbox }, i) => {
      const own = colours[i] ?? INK;
      const points = await readShown(page, timestamp, edgesOf(scaled_bbox));
      const seen = points.filter(
        (point) => isNear(point, own, NEAR.box) || !colours.some((colour) => isWritten(point, colour)),
      );
      const right = seen.filter((point) => isNear(point, own, NEAR.box));
      return { trackId: track_id, seen: seen.length, right: right.length };
    }),
  );
}

/** How much of what is within the boxes is as in this picture, from 0 to 1. */
export async function judgeLikeness(
  page: Page,
  { timestamp, active_tracks }: DetectionMessage,
  jpeg: Uint8Array,
): Promise<number> {
  const points = active_tracks.flatMap(({ scaled_bbox }) => insideOf(scaled_bbox));
  const [shown, picture] = await Promise.all([
    readShown(page, timestamp, points),
    readPicture(page, timestamp, jpeg, points),
  ]);
  return shown.filter((colour, i) => isNear(colour, picture[i] ?? INK, NEAR.picture)).length / points.length;
}
