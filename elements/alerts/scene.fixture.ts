/** Frames with tracks at given positions, and rules to evaluate them. */
import assert from "node:assert/strict";
import type { AlertRule } from "../../schemas/alerts.ts";
import type { Box, Track } from "../../schemas/detections.ts";
import type { Place } from "../../schemas/places.ts";
import { track } from "../marks.fixture.ts";
import type { AlertEvent, Evaluator, Scene, Sighting } from "./alert-type.ts";
import { checkRule } from "./types.ts";

export const START_MS = 1_700_000_000_000;

/** A box of this size whose foot is at x, y. Sizes that are powers of two keep the foot exact. */
export function boxAt(x: number, y: number, width = 1 / 64, height = 1 / 64): Box {
  return [x - width / 2, y - height, width, height];
}

export const seenAt = (id: number, x: number, y: number, change: Partial<Track> = {}): Sighting => ({
  track: track(id, boxAt(x, y), change),
  place: null,
});

export const spotAt = (longitude: number, latitude: number, speedMps: number | null = null): Place => ({
  ...{ azimuth: 0, elevation: -30, distance: 100, isDistanceEstimated: false },
  spot: { latitude, longitude, altitude: 30, errorM: 1, speedMps, heading: null },
});

export const placedAt = (
  id: number,
  longitude: number,
  latitude: number,
  speedMps: number | null = null,
): Sighting => ({
  track: track(id, boxAt(0.5, 0.5)),
  place: spotAt(longitude, latitude, speedMps),
});

export const sceneAt = (ms: number, sightings: readonly Sighting[], change: Partial<Scene> = {}): Scene => ({
  timeMs: START_MS + ms,
  inferred: true,
  sightings,
  ended: [],
  ...change,
});

export const ruleOf = (type: string, parts: Omit<AlertRule, "alert" | "type"> = {}): AlertRule => ({
  alert: "test",
  type,
  ...parts,
});

/** The evaluator of a valid rule. */
export function evaluatorOf(type: string, parts: Omit<AlertRule, "alert" | "type"> = {}): Evaluator {
  const checked = checkRule(ruleOf(type, parts));
  assert.deepEqual(checked.faults ?? [], []);
  assert.ok(checked.type !== undefined);
  return checked.type.create(checked.configuration);
}

export const faultsOf = (type: string, parts: Omit<AlertRule, "alert" | "type"> = {}): readonly string[] =>
  (checkRule(ruleOf(type, parts)).faults ?? []).map(({ path, message }) => `${path} ${message}`);

/** Event and tracks, briefly: `triggered 3,4`. */
export const brief = (events: readonly AlertEvent[]): readonly string[] =>
  events.map(({ event, sightings }) => [event, sightings.map(({ track: { id } }) => id).join()].join(" ").trim());
