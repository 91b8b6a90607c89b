import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonRecord } from "../../schemas/json.ts";
import { Tally } from "./tally.ts";

const frame = (...objects: readonly (readonly [name: string, id: number])[]): JsonRecord => ({
  active_tracks: objects.map(([class_name, track_id]) => ({ class_name, track_id })),
});
const run = { frames: 10, clipSeconds: 4, seconds: 2 };

test("counts detections, distinct tracks by class, the highest counts, and events of alerts", () => {
  const tally = new Tally(new Map([["uuid", "gate"]]));
  for (const message of [frame(["car", 1], ["person", 2]), frame(["car", 1], ["car", 3], ["dog", 0])])
    tally.see("detection_data", message);
  for (const total of [1, 4, 2]) tally.see("detection_data", { active_tracks: [], counts: { people: { total } } });
  for (const event of ["triggered", "cleared", "triggered"]) tally.see("alerts", { alert: "uuid", event });
  tally.see("alerts", { alert: "own", event: "triggered" });
  tally.see("other", { active_tracks: 7 });
  const counted = [
    tally.read({ kind: "messages" }, run),
    tally.read({ kind: "frames" }, run),
    tally.read({ kind: "fps_ratio" }, run),
    tally.read({ kind: "detections", className: null }, run),
    tally.read({ kind: "detections", className: "car" }, run),
    tally.read({ kind: "tracks", className: null }, run),
    tally.read({ kind: "tracks", className: "car" }, run),
    tally.read({ kind: "tracks", className: "dog" }, run),
    tally.read({ kind: "counts", name: "people" }, run),
    tally.read({ kind: "counts", name: "cars" }, run),
    tally.read({ kind: "alerts", alias: null, event: null }, run),
    tally.read({ kind: "alerts", alias: "gate", event: "triggered" }, run),
    tally.read({ kind: "alerts", alias: "own", event: null }, run),
  ];
  assert.deepEqual(counted, [5, 10, 2, 5, 3, 3, 2, 0, 4, 0, 4, 2, 1]);
});
