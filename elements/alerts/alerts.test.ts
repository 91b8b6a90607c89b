import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { AlertEvent, type AlertRule } from "../../schemas/alerts.ts";
import type { Track } from "../../schemas/detections.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { MOST_PATCH_BYTES } from "../../schemas/track-report.ts";
import { compiledText, start } from "../../test/graph.fixture.ts";
import type { PicturePart } from "../element.ts";
import { marker, track, tracks } from "../marks.fixture.ts";
import { AlertsHandler } from "./handler.ts";
import { boxAt, START_MS, spotAt } from "./scene.fixture.ts";

const validate = new Ajv2020({ strict: false, validateSchema: false }).compile(AlertEvent);
const size = { width: 1920, height: 1080 };

interface Shown {
  readonly ended?: number[];
  readonly inferred?: boolean;
  readonly places?: object;
}

function alerting(
  rules: readonly AlertRule[],
  takePicture: (part: PicturePart) => Uint8Array = () => new Uint8Array(9),
) {
  const sent: AlertEvent[] = [];
  const warnings: string[] = [];
  const log = { debug() {}, info() {}, error() {}, warn: (message: string) => void warnings.push(message) };
  const taken: PicturePart[] = [];
  const send = async (_: string, finding: JsonRecord) => {
    assert.ok(validate(finding), JSON.stringify(validate.errors));
    sent.push(structuredClone(finding) as unknown as AlertEvent);
  };
  const handler = new AlertsHandler({ rules }, { send, log });
  const show = async (ms: number, objects: Track[], { ended = [], inferred = true, places }: Shown = {}) => {
    const before = sent.length;
    await handler.process({
      captureNs: BigInt(START_MS + ms) * 1_000_000n + 999_999n,
      inputSize: size,
      format: { caps: "", mediaType: "video/x-raw", pixels: "I420", fps: 25, ...size },
      signal: new AbortController().signal,
      image: async (_, part = {}) => {
        taken.push(part);
        return takePicture(part);
      },
      meta: { tracks: tracks(objects, { ended, inferred }), ...(places !== undefined && { places: places as never }) },
    });
    return sent
      .slice(before)
      .map(({ alert, event, tracks: listed }) => [alert, event, ...listed.map((one) => one.track_id)].join(" "));
  };
  return { handler, show, sent, warnings, taken };
}

const at = (id: number, x: number, y = 0.5, change: Partial<Track> = {}) => track(id, boxAt(x, y, 0.1, 0.2), change);
const search = (alert: string, change: Partial<AlertRule> = {}): AlertRule => ({
  alert,
  type: "filter-search",
  ...change,
});
const crowd = (alert: string, count: number): AlertRule => ({
  alert,
  type: "grid-density",
  trigger: { count, for_seconds: 2, cooldown_seconds: 0 },
  parameters: { rows: 1, columns: 1 },
});

describe("the handler", () => {
  test("sends what a rule finds, with track entries and positions as in the detection message", async () => {
    const { show, sent } = alerting([search("a", { filter: { class_names: ["car"] } })]);
    const car = track(7, [0.25, 0.5, 0.125, 0.25], { classId: 2, className: "car", confidence: 0.5 });
    await show(0, [at(1, 0.5), car], { places: { mode: "full", ageMs: 3, objects: [null, spotAt(11.5, 48, 4)] } });
    const [finding, another] = sent;
    assert.equal(another, undefined);
    assert.deepEqual(
      [finding?.alert, finding?.type, finding?.event, finding?.timeMs],
      ["a", "filter-search", "triggered", START_MS],
    );
    assert.deepEqual(finding?.tracks, [
      {
        track_id: 7,
        class_id: 2,
        class_name: "car",
        bbox: [480, 540, 240, 270],
        scaled_bbox: [0.25, 0.5, 0.125, 0.25],
        confidence: 50,
        ...{ latitude: 48, longitude: 11.5, altitude: 30, distance: 100, azimuth: 0, elevation: -30 },
        ...{ position_error_m: 1, speed_mps: 4 },
      },
    ]);
    assert.deepEqual(finding?.data.patch, {
      image: Buffer.alloc(9).toString("base64"),
      confidence: 50,
      timestamp: new Date(START_MS).toISOString(),
    });
  });

  test("an unchanged rule keeps its state when others change; a changed rule restarts", async () => {
    const { handler, show } = alerting([crowd("same", 1), crowd("other", 1)]);
    await show(0, [at(1, 0.5)]);
    const { trigger, ...rest } = crowd("same", 1);
    // Equal after defaults are filled in.
    handler.update({
      rules: [
        crowd("new", 1),
        { ...rest, filter: {}, trigger: { cooldown_seconds: 0, ...trigger } },
        { ...crowd("other", 1), filter: { min_confidence: 0.1 } },
      ],
    });
    await show(1000, [at(1, 0.5)]);
    assert.deepEqual(await show(2000, [at(1, 0.5)]), ["same triggered 1"]);
    assert.deepEqual(await show(3000, [at(1, 0.5)]), ["new triggered 1", "other triggered 1"]);
    handler.update({ rules: [] });
    assert.deepEqual(await show(4000, []), []);
  });

  test("an invalid rule rejects the change with the reason, and the rules before stay active", async () => {
    const { handler, show } = alerting([crowd("same", 1)]);
    await show(0, [at(1, 0.5)]);
    const refuse = (...rules: AlertRule[]) => {
      let message = "";
      assert.throws(
        () => handler.update({ rules }),
        (error: Error) => {
          message = error.message;
          return true;
        },
      );
      return message;
    };
    assert.equal(
      refuse(crowd("fine", 1), { ...crowd("late", 1), trigger: { cooldown_seconds: -1 } }),
      'rule 2, "late": trigger/cooldown_seconds is -1; expected a number from 0 to 86400',
    );
    assert.match(refuse(crowd("a", 1), crowd("a", 2)), /^rule 2, "a": another rule has the same name/);
    assert.match(refuse({ alert: "a", type: "flow" }), /^rule 1, "a": type "flow" is not an alert type/);
    assert.deepEqual(await show(2000, [at(1, 0.5)]), ["same triggered 1"]);
    assert.throws(
      () => alerting([{ alert: "x", type: "flow-control" }]),
      /^Error: rule 1, "x": region\/line is missing/,
    );
  });

  test("frames without inference change nothing, except for tracks that end", async () => {
    const { show } = alerting([crowd("a", 1), { alert: "b", type: "follow-track" }]);
    assert.deepEqual(await show(0, [at(1, 0.5)]), ["b triggered 1"]);
    assert.deepEqual(await show(2000, [at(1, 0.5, 0.5, { predicted: true })], { inferred: false }), []);
    assert.deepEqual(await show(2100, [at(1, 0.5)]), ["a triggered 1", "b updated 1"]);
    assert.deepEqual(await show(2200, [], { inferred: false, ended: [1] }), ["a cleared", "b cleared 1"]);
  });

  test("long intervals between inferences do not interrupt a match", async () => {
    const { show } = alerting([crowd("a", 1), search("b", { trigger: { for_seconds: 6 } })]);
    await show(0, [at(1, 0.5)]);
    await show(1500, [], { inferred: false, ended: [9] });
    assert.deepEqual(await show(3000, [at(1, 0.5)]), ["a triggered 1"]);
    assert.deepEqual(await show(6000, [at(1, 0.5)]), ["b triggered 1"]);
  });

  test("tolerates a clock set back by less than a second; a larger step back resets the rules", async () => {
    const { show, sent } = alerting([crowd("a", 1)]);
    await show(0, [at(1, 0.5)]);
    await show(-500, [at(1, 0.5)]);
    assert.deepEqual(await show(2000, [at(1, 0.5)]), ["a triggered 1"]);
    assert.deepEqual(await show(1900, [], { ended: [1] }), ["a cleared"]);
    assert.equal(sent.at(-1)?.timeMs, START_MS + 2000);
    await show(-60_000, [at(2, 0.5)]);
    assert.deepEqual(await show(-58_000, [at(2, 0.5)]), ["a triggered 2"]);
  });
});

describe("track images", () => {
  const patient = search("a", { trigger: { for_seconds: 1 } });
  const sized = (id: number, side: number) => track(id, boxAt(0.5, 0.9, side, side));

  test("show the best moment of the match, cropped with a margin", async () => {
    let count = 0;
    const { show, sent, taken } = alerting([patient], () => Uint8Array.of(++count));
    await show(0, [sized(1, 0.05)]);
    await show(500, [sized(1, 0.125)]);
    await show(600, [sized(1, 0.125)]);
    await show(1000, [sized(1, 0.0625)]);
    assert.equal(taken.length, 2);
    const { region } = taken[1] ?? {};
    assert.ok(region !== undefined && Math.abs(region.width - 0.15) < 1e-9, JSON.stringify(region));
    assert.deepEqual(sent.at(-1)?.data.patch, {
      image: Buffer.of(2).toString("base64"),
      confidence: 87,
      timestamp: new Date(START_MS + 500).toISOString(),
    });
  });

  test("are taken of few tracks per frame, and only of tracks that match a rule", async () => {
    const { show, sent, taken } = alerting([{ ...patient, filter: { class_names: ["person"] } }, crowd("b", 99)]);
    const people = Array.from({ length: 20 }, (_, i) => sized(i + 1, 0.05));
    const cats = people.map((one) => ({ ...one, id: one.id + 100, className: "cat" }));
    await show(0, [...people, ...cats]);
    assert.equal(taken.length, 2);
    for (let ms = 1000; ms < 1500; ms += 100) await show(ms, [...people, ...cats]);
    assert.equal(sent.length, 20);
    assert.ok(sent.every(({ data }) => data.patch !== null));
    assert.ok(taken.length >= 20 && taken.length < 40);
  });

  test("that fail leave the notification without an image and log one warning", async () => {
    const { show, sent, warnings } = alerting([search("a")], () => {
      throw new Error("no such format");
    });
    await show(0, [sized(1, 0.05)]);
    await show(100, [sized(2, 0.05)]);
    assert.deepEqual(
      sent.map(({ data }) => data.patch),
      [null, null],
    );
    assert.deepEqual(warnings, ["track image failed: no such format"]);
  });

  test("that are too large are encoded smaller", async () => {
    const { show, sent, taken } = alerting(
      [search("a")],
      ({ mostPixels = 0 }) => new Uint8Array(mostPixels > 320 ? MOST_PATCH_BYTES + 1 : 5),
    );
    await show(0, [sized(1, 0.5)]);
    assert.deepEqual(
      taken.map(({ mostPixels }) => mostPixels),
      [640, 320],
    );
    assert.deepEqual(sent[0]?.data.patch !== null, true);
  });
});

test("limits the events of one frame and logs how many were dropped", async () => {
  const rules = Array.from({ length: 60 }, (_, i) => search(`rule ${i}`));
  const { show, sent, warnings } = alerting(rules);
  await show(
    0,
    Array.from({ length: 4 }, (_, i) => at(i + 1, 0.5)),
  );
  assert.equal(sent.length, 200);
  assert.deepEqual(warnings, ["40 alert events of one frame dropped: limit is 200"]);
});

describe("in a graph", () => {
  const textOf = (source: string, rules: readonly AlertRule[]) => `
graph: alerted
about: Objects that cross the picture.
chains:
  main:
    - source: { uri: "test:smpte?width=320&height=240&fps=10${source}" }
    - decode
    - mark
    - alerts: { rules: ${JSON.stringify(rules)} }
    - print: { every: 1000 }
`;
  const upward = [
    [0.5, 1],
    [0.5, 0],
  ];
  const gate: AlertRule = { alert: "gate", type: "flow-control", region: { line: upward } };

  test("reports line crossings, and adds an image to what a search finds", async () => {
    const sent: (readonly [channel: string, finding: AlertEvent])[] = [];
    // From left to right in 20 frames, and another one back.
    const mark = marker(({ index }) => ({ tracks: tracks([at(1, 0.1 + index * 0.04), at(2, 0.9 - index * 0.04)]) }));
    const left = [
      [0, 0],
      [0.5, 0],
      [0.5, 1],
      [0, 1],
    ];
    const rules = [{ ...gate, trigger: { direction: "forward" } }, search("search", { region: { polygon: left } })];
    const graph = await start(compiledText(textOf("&frames=20", rules), mark), [mark], {
      send: async (_node, channel, message) => void sent.push([channel, message as unknown as AlertEvent]),
      print: async () => {},
    });
    assert.deepEqual(await graph.ended, { state: "finished", error: null });
    assert.deepEqual([...new Set(sent.map(([channel]) => channel))], ["alerts"]);
    const findings = sent.map(([, finding]) => finding);
    for (const finding of findings) assert.ok(validate(finding), JSON.stringify(validate.errors));
    assert.deepEqual(
      findings.map(({ alert, timeMs, tracks: listed }) => [alert, timeMs, ...listed.map((one) => one.track_id)]),
      [
        ["search", 0, 1],
        ["search", 1000, 2],
        ["gate", 1100, 1],
      ],
    );
    const patch = findings[0]?.data.patch as { readonly image: string } | undefined;
    const jpeg = Buffer.from(patch?.image ?? "", "base64");
    assert.deepEqual([...jpeg.subarray(0, 3)], [0xff, 0xd8, 0xff]);
  });

  test("accepts new rules while PLAYING, rejects invalid ones with the reason, and drops no frame", async (t) => {
    const sent: AlertEvent[] = [];
    let found = () => {};
    const indices: number[] = [];
    const mark = marker(({ index }) => {
      indices.push(index);
      return { tracks: tracks([at(1, index % 2 === 0 ? 0.3 : 0.7)]) };
    });
    const compiled = (...rules: readonly AlertRule[]) => compiledText(textOf("", rules), mark);
    const graph = await start(compiled(), [mark], {
      send: async (_node, _channel, message) => {
        sent.push(message as unknown as AlertEvent);
        found();
      },
      print: async () => {},
    });
    t.after(() => graph.stop());
    const next = () => new Promise<void>((resolve) => (found = resolve));
    const first = next();
    const changes = await graph.apply(compiled(gate));
    assert.deepEqual(
      changes.map(({ label }) => label),
      ["live"],
    );
    await first;
    const wrong = { ...gate, alert: "wrong", trigger: { count: 1, cooldown_seconds: -1 } };
    await assert.rejects(graph.apply(compiled(gate, wrong)), /rule 2, "wrong": trigger\/cooldown_seconds is -1/);
    const crossings = () => Number(sent.at(-1)?.data.forward_total) + Number(sent.at(-1)?.data.backward_total);
    const before = crossings();
    await next();
    assert.ok(crossings() > before);
    await graph.stop();
    assert.deepEqual(
      indices,
      indices.map((_, i) => i),
    );
  });
});
