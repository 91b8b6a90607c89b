import assert from "node:assert/strict";
import { test } from "node:test";
import { TelemetryRefusal } from "../../schemas/api/telemetry.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { ServiceError } from "../service-error.ts";
import { checkBy } from "../validation.ts";
import { Listener, openStage } from "./streams.fixture.ts";
import { readTelemetry } from "./telemetry-in.ts";

const checkRefusal = checkBy(TelemetryRefusal);
const codeOf = (answer: JsonRecord | undefined) => (answer as TelemetryRefusal | undefined)?.error.code;

const REDUCED = { timestamp: 1_760_000_000, sensor_hfov: 60, sensor_vfov: 34 };
const FULL = {
  ...REDUCED,
  latitude: 41.4,
  longitude: 2.17,
  speed: 3.5,
  camera_pitch: -45,
  camera_yaw: 120,
  camera_roll: 0,
  altitude: 180,
  rel_altitude: 60,
  drone_pitch: 1,
  drone_yaw: 118,
  drone_roll: -2,
};

test("a message with the fields of view alone is one, and so is one with everything", () => {
  assert.deepEqual(readTelemetry(JSON.stringify(REDUCED)), REDUCED);
  assert.deepEqual(readTelemetry(JSON.stringify(FULL)), FULL);
});

test("what we do not know is left out", () => {
  const text = `{"__proto__": {"x": 1}, "battery": 80, ${JSON.stringify(REDUCED).slice(1)}`;
  assert.deepEqual(readTelemetry(text), REDUCED);
});

const refused: readonly (readonly [text: string, code: string, path?: string])[] = [
  ["", "malformed_json"],
  ["{", "malformed_json"],
  ['{"timestamp": NaN}', "malformed_json"],
  ["null", "invalid_input"],
  ["[]", "invalid_input"],
  ["7", "invalid_input"],
  [JSON.stringify({ ...REDUCED, timestamp: undefined }), "invalid_input", "timestamp"],
  [JSON.stringify({ ...REDUCED, sensor_hfov: undefined }), "invalid_input", "sensor_hfov"],
  [JSON.stringify({ ...REDUCED, sensor_hfov: 0 }), "invalid_input", "/sensor_hfov"],
  [JSON.stringify({ ...REDUCED, sensor_vfov: 180 }), "invalid_input", "/sensor_vfov"],
  [JSON.stringify({ ...FULL, latitude: 90.1 }), "invalid_input", "/latitude"],
  [JSON.stringify({ ...FULL, longitude: -181 }), "invalid_input", "/longitude"],
  [JSON.stringify({ ...FULL, latitude: "41.4" }), "invalid_input", "/latitude"],
  [JSON.stringify({ ...FULL, altitude: null }), "invalid_input", "/altitude"],
  [JSON.stringify(FULL).replace('"speed":3.5', '"speed":1e999'), "invalid_input", "/speed"],
  [JSON.stringify({ ...REDUCED, timestamp: "2026-01-01T00:00:00Z" }), "invalid_input", "/timestamp"],
];
for (const [text, code, path] of refused) {
  test(`refuses ${text.slice(0, 60) || "nothing"}`, () => {
    assert.throws(
      () => readTelemetry(text),
      (error: unknown) => {
        assert.ok(error instanceof ServiceError);
        assert.equal(error.code, code);
        if (path === undefined) return true;
        const told = (error.errors ?? []).map((fault) => `${fault.path} ${fault.message}`).join("\n");
        assert.ok(told.includes(path), `${told} should name ${path}`);
        return true;
      },
    );
  });
}

test("valid messages reach the process in order, the others are answered and change nothing", async () => {
  const stage = await openStage();
  try {
    const process = stage.start();
    const listener = await Listener.open(stage, process, "telemetry");
    listener.socket.send(JSON.stringify(FULL));
    listener.socket.send("nonsense");
    listener.socket.send(JSON.stringify({ ...FULL, latitude: 100 }));
    listener.socket.send(Buffer.from(JSON.stringify(FULL)));
    listener.socket.send(JSON.stringify(REDUCED));
    const answers = await listener.expect(3);
    for (const answer of answers) assert.deepEqual(checkRefusal(answer), []);
    assert.deepEqual(answers.map(codeOf), ["malformed_json", "invalid_input", "malformed_json"]);
    listener.socket.send("last");
    await listener.expect(4);
    assert.deepEqual(process.delivered, [
      { channel: "telemetry", ...FULL },
      { channel: "telemetry", ...REDUCED },
    ]);
    await listener.close();
  } finally {
    await stage.close();
  }
});

test("a flood is bounded, said once a second and survived", async () => {
  const stage = await openStage({ received_per_second: 5 });
  try {
    const process = stage.start();
    const listener = await Listener.open(stage, process, "telemetry");
    const text = JSON.stringify(REDUCED);
    for (let i = 0; i < 2000; i++) listener.socket.send(text);
    const [first] = await listener.expect(1);
    assert.equal(codeOf(first), "rate_limited");
    await listener.close();
    // Reading stops for the rest of each second: most of it was still on its way when the client went.
    assert.ok(process.delivered.length < 200, `${process.delivered.length} of 2000 came through`);
  } finally {
    await stage.close();
  }
});

test("a process that does not keep up gathers no more than it may", async () => {
  const stage = await openStage({ queued_messages: 4 });
  try {
    const process = stage.start();
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    process.gate = () => opened;
    const listener = await Listener.open(stage, process, "telemetry");
    for (let i = 0; i < 6; i++) listener.socket.send(JSON.stringify({ ...REDUCED, timestamp: i }));
    const answers = await listener.expect(2);
    assert.deepEqual(new Set(answers.map(codeOf)), new Set(["rate_limited"]));
    assert.equal(process.delivered.length, 4);
    open();
    await opened;
    listener.socket.send(JSON.stringify(REDUCED));
    listener.socket.send("last");
    await listener.expect(3);
    assert.equal(process.delivered.length, 5);
    await listener.close();
  } finally {
    await stage.close();
  }
});

test("what the process says against a message is answered", async () => {
  const stage = await openStage();
  try {
    const process = stage.start();
    process.gate = async () => {
      throw new ServiceError("graph_lacks", { detail: "This graph uses no telemetry." });
    };
    const listener = await Listener.open(stage, process, "telemetry");
    listener.socket.send(JSON.stringify(REDUCED));
    const [answer] = await listener.expect(1);
    assert.equal(codeOf(answer), "graph_lacks");
    await listener.close();
  } finally {
    await stage.close();
  }
});
