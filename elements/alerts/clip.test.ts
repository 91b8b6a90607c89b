/** The whole chain on a real clip: detect, track, evaluate. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import type { AlertFinding, AlertRule } from "../../schemas/alerts.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { MISSING_CLIP, testClip } from "../../test/clips.fixture.ts";
import { withoutModel } from "../../test/golden/golden.fixture.ts";
import { compiledText, start, temporaryFolder } from "../../test/graph.fixture.ts";

const FRAMES = 16;
const clip = testClip("vtest.avi");
const skip = (await withoutModel("default")) || (clip === null && MISSING_CLIP);

describe("on a real clip", { skip }, () => {
  const messages: DetectionMessage[] = [];
  const findings: AlertFinding[] = [];
  const of = (name: string) => findings.filter(({ alert }) => alert === name);

  before(async () => {
    const short = join(temporaryFolder(), "short.avi");
    execFileSync("ffmpeg", ["-v", "error", "-i", clip ?? "", "-c", "copy", "-frames:v", String(FRAMES), short]);
    const rules: AlertRule[] = [
      {
        alert: "crowd",
        type: "grid-density",
        trigger: { count: 1, for_seconds: 0 },
        parameters: { rows: 2, columns: 3 },
      },
      { alert: "each", type: "filter-search", filter: { class_names: ["person"] } },
      { alert: "one", type: "follow-track", parameters: { interval_seconds: 0.5 } },
    ];
    const text = `
graph: alerted
about: A clip, with rules.
chains:
  main:
    - source: { uri: ${JSON.stringify(short)} }
    - decode
    - detect
    - track
    - alerts: { rules: ${JSON.stringify(rules)} }
    - detections
`;
    const graph = await start(compiledText(text), [], {
      send: async (_node, channel, message) =>
        void (channel === "alerts" ? findings : messages).push(structuredClone(message) as never),
    });
    assert.deepEqual(await graph.ended, { state: "finished", error: null });
  });

  test("findings equal the detection messages of the same time", () => {
    assert.equal(messages.length, FRAMES);
    const entries = new Map(messages.map((message) => [message.timestamp, message.active_tracks]));
    for (const { alert, event, timeMs, tracks } of findings) {
      if (alert === "crowd" || event === "cleared") continue;
      for (const entry of tracks)
        assert.deepEqual(
          entries.get(new Date(timeMs).toISOString())?.find(({ track_id }) => track_id === entry.track_id),
          entry,
        );
    }
  });

  test("every person is found once, with an image", () => {
    const people = messages.flatMap(({ active_tracks }) => active_tracks.filter((one) => one.class_name === "person"));
    const found = of("each").map(({ tracks }) => tracks[0]?.track_id);
    assert.ok(found.length >= 3, String(found));
    assert.deepEqual([...found].sort(), [...new Set(people.map(({ track_id }) => track_id))].sort());
    for (const { data } of of("each")) {
      const { image } = data.patch as { image: string };
      assert.match(image, /^\/9j\//);
    }
  });

  test("cells are dense where there are people, and one of them is followed", () => {
    assert.equal(of("crowd")[0]?.event, "triggered");
    assert.deepEqual(
      of("one")
        .map(({ event }) => event)
        .slice(0, 3),
      ["triggered", "updated", "updated"],
    );
  });
});
