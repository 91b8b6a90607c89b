import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { AccessUnit } from "../../media/access-unit.ts";
import { findBox } from "../../media/mp4/box.ts";
import { makeClip } from "../../media/mp4/clip.fixture.ts";
import { readMoof } from "../../media/mp4/fragment.ts";
import { writeMedia } from "./playlist.ts";
import { checkPlaylist, checkSuccession, type ReadPlaylist, readPlaylist } from "./read-playlist.fixture.ts";
import { Segmenter } from "./segmenter.ts";
import { Window } from "./window.ts";

const { tracks } = makeClip({ seconds: 1, fps: 2, size: "64x64" });
const MOST_BYTES = 100_000;

interface Step {
  readonly stepMs: number;
  readonly isKey: boolean;
  readonly bytes: number;
  /** The tracks are set again before it. */
  readonly isTurn: boolean;
}

const stepOf = (most: number) =>
  fc.record({
    stepMs: fc.integer({ min: 5, max: most }),
    isKey: fc.integer({ min: 0, max: 20 }).map((dice) => dice === 0),
    bytes: fc.integer({ min: 1, max: 3000 }),
    isTurn: fc.integer({ min: 0, max: 100 }).map((dice) => dice === 0),
  });

/** Every playlist that a viewer could have got. */
function play(steps: readonly Step[]) {
  const window = new Window(1000, () => MOST_BYTES);
  const playlists: ReadPlaylist[] = [];
  const pictures = new Map<number, number>();
  const segmenter = new Segmenter(window, () => {
    const newest = window.findPart(window.nextPart - 1);
    if (newest !== null) {
      const [video] = readMoof(findBox(newest.data, "moof") ?? Buffer.of());
      pictures.set(newest.number, video?.samples ?? 0);
    }
    if (window.isReady) playlists.push(readPlaylist(writeMedia(window, "")));
  });
  segmenter.setTracks(tracks);
  let dtsUs = 0;
  for (const [i, { stepMs, isKey, bytes, isTurn }] of steps.entries()) {
    if (isTurn) segmenter.setTracks({ ...tracks });
    const parts = [new Uint8Array(bytes).fill(1)];
    const unit: AccessUnit = {
      kind: "video",
      dtsUs,
      ptsUs: dtsUs,
      captureMs: i,
      isKey: isKey || isTurn || i === 0,
      parts,
    };
    segmenter.push(unit);
    dtsUs += stepMs * 1000;
  }
  segmenter.end();
  return { window, playlists, pictures: [...pictures.values()].reduce((sum, count) => sum + count, 0) };
}

describe("irregular publishers", () => {
  test("playlists keep their promises", () => {
    fc.assert(
      fc.property(fc.array(stepOf(100), { minLength: 50, maxLength: 400 }), (steps) => {
        const { playlists } = play(steps);
        for (const [i, playlist] of playlists.entries()) {
          checkPlaylist(playlist);
          const before = playlists[i - 1];
          if (before !== undefined) checkSuccession(before, playlist);
        }
        assert.equal(playlists.at(-1)?.isEnded, true);
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });

  test("limits duration and number of segments at any pace", () => {
    fc.assert(
      fc.property(fc.array(stepOf(5000), { minLength: 20, maxLength: 300 }), (steps) => {
        const { window, playlists } = play(steps);
        for (const { segments, target, sequence } of playlists) {
          assert.ok(sequence >= 1000);
          for (const { duration } of segments) assert.ok(duration <= target + 2, `${duration} s`);
        }
        const kept = window.listed().reduce((sum, { bytes }) => sum + bytes, 0);
        assert.ok(kept <= MOST_BYTES, `${kept} bytes`);
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });

  test("no picture is lost", () => {
    const steps = Array.from({ length: 300 }, (_, i) => ({
      stepMs: 40,
      isKey: i % 25 === 0,
      bytes: 10,
      isTurn: false,
    }));
    assert.equal(play(steps).pictures, 300);
  });
});

test("segments start with keyframes, and frequent keyframes do not shorten them", () => {
  const steps = (gop: number) =>
    Array.from({ length: 200 }, (_, i) => ({ stepMs: 40, isKey: i % gop === 0, bytes: 10, isTurn: false }));
  const durations = (gop: number) =>
    play(steps(gop))
      .window.listed()
      .map(({ durationUs }) => durationUs / 1e6);
  assert.deepEqual(durations(25), [1, 1, 1, 1, 1, 1, 1, 1]);
  assert.deepEqual(durations(50), [2, 2, 2, 2]);
  assert.deepEqual(durations(1), [1, 1, 1, 1, 1, 1, 1, 1]);
});
