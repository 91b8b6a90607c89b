import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputState } from "../outputs/describe-output.ts";
import { describeStarted, explainOutputs } from "./view.ts";

const state = (status: OutputState["status"], detail: string | null = null): OutputState => ({
  ...{ outputUuid: "a", type: "rtsp", status, detail, framesSent: 5, framesDropped: 1 },
});
const OUTPUTS = [state("live"), state("retrying", "the server closed the connection"), state("failed", "not there")];

test("shows outputs of a running process unchanged", () => {
  assert.deepEqual(explainOutputs(OUTPUTS, "running", false), OUTPUTS);
});

test("explains outputs of a process that is paused or waits for its source, except failed ones", () => {
  for (const [processState, reconnecting, why] of [
    ["paused", false, "the process is paused"],
    ["running", true, "the process waits for its source"],
  ] as const)
    assert.deepEqual(explainOutputs(OUTPUTS, processState, reconnecting), [
      ...[state("live", why), state("starting", why), OUTPUTS[2]],
    ]);
});

const UUID = "01890000-0000-7000-8000-000000000000";
const address = { publicUrl: "https://watch.example:8443", apiKey: "wh_a_b+c" };

test("the URLs of a started process carry the key, and websockets their own scheme", () => {
  assert.deepEqual(describeStarted(UUID, null, address), {
    process_uuid: UUID,
    feed_url: `https://watch.example:8443/process/${UUID}/feed?api_key=wh_a_b%2Bc`,
    detection_data_url: `wss://watch.example:8443/process/${UUID}/detection_data?api_key=wh_a_b%2Bc`,
    telemetry_url: "Not configured",
  });
  const plain = describeStarted(UUID, null, { ...address, publicUrl: "http://127.0.0.1:8080" });
  assert.ok(plain.detection_data_url.startsWith("ws://127.0.0.1:8080/process/"));
});

for (const [type, parameters, expected] of [
  ["websocket", {}, `wss://watch.example:8443/process/${UUID}/telemetry?api_key=wh_a_b%2Bc`],
  ["mqtt", { ip: "10.0.0.7", port: 1883, topic: "drone/7" }, "mqtt://10.0.0.7:1883/drone/7"],
  ["mqtt", { ip: "fe00::7", port: 1883, topic: "t", username: "u", password: "p" }, "mqtt://[fe00::7]:1883/t"],
  ["static", { sensor_hfov: 60 }, "static"],
] as const)
  test(`the telemetry URL for type ${type} is ${expected.split("?")[0]}`, () => {
    const telemetry = { type, format: "native", parameters } as const;
    assert.equal(describeStarted(UUID, telemetry, address).telemetry_url, expected);
  });
