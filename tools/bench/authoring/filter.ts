/**
 * The cost of `filter` per frame, and of the same filter written in TypeScript, for every frame of one pipeline: first one of
 * them, then the other. Run in its own process. Prints medians in µs.
 */
import { type AnyElement, defineElement, type Frame } from "../../../elements/element.ts";
import filter from "../../../elements/filter/filter.ts";
import type { Track, Tracks } from "../../../schemas/detections.ts";
import type { Place, Places } from "../../../schemas/places.ts";
import { passing, runLine, timed } from "../detect/measure.ts";
import { median } from "../harness.ts";

const FRAMES = 4000;
/** The first ones are compiled while they run. */
const WARM_UP = 1000;
const OBJECTS = 20;

const track = (index: number): Track => ({
  ...{ id: index + 1, classId: index % 2, className: index % 2 === 0 ? "car" : "person", confidence: 0.87 },
  ...{ box: [0.1, 0.1, 0.04, 0.09], predicted: false, ageMs: 4000, velocity: [0, 0] },
});
const place = (index: number): Place => ({
  ...{ azimuth: 0, elevation: -10, distance: 100, isDistanceEstimated: false },
  spot: { latitude: 47, longitude: 8, altitude: 400, errorM: 2, speedMps: index, heading: 90 },
});
const TRACKS: Tracks = { inferred: true, ended: [], objects: Array.from({ length: OBJECTS }, (_, i) => track(i)) };
const PLACES: Places = { mode: "full", ageMs: 0, objects: Array.from({ length: OBJECTS }, (_, i) => place(i)) };

/** `class_name == 'car' && speed_mps > 8`, by hand. */
const byHand = passing("by-hand", (frame: Frame) => {
  const tracks = frame.meta.tracks as Tracks;
  const places = frame.meta.places as Places;
  const kept = [...tracks.objects.keys()].filter((index) => {
    const speedMps = places.objects[index]?.spot?.speedMps ?? Number.NaN;
    return tracks.objects[index]?.className === "car" && speedMps > 8;
  });
  if (kept.length === tracks.objects.length) return;
  frame.write({
    tracks: { ...tracks, objects: kept.map((index) => tracks.objects[index] as Track) },
    places: { ...places, objects: kept.map((index) => places.objects[index] ?? null) },
  });
});

/** Both need the same input: it is written before each. */
const mark = (name: string): AnyElement =>
  defineElement({
    ...passing(name, (frame) => frame.write({ tracks: TRACKS, places: PLACES })),
    writes: ["tracks", "places"],
  } as AnyElement);

const expression: number[] = [];
const typescript: number[] = [];
const source = `videotestsrc num-buffers=${FRAMES} ! video/x-raw,format=I420,width=64,height=48,framerate=25/1`;
const line = `${source} ! mark ! filter where="class_name == 'car' && speed_mps > 8" ! mark-again ! by-hand ! fakesink sync=false`;
await runLine(line, [mark("mark"), timed(filter, expression), mark("mark-again"), timed(byHand, typescript)]);
const us = (times: readonly number[]): number => median(times.slice(WARM_UP)) * 1000;
console.log(JSON.stringify({ measured: us(expression), peer: us(typescript) }));
