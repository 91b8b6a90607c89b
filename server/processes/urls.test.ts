import assert from "node:assert/strict";
import { test } from "node:test";
import { describeStarted } from "./urls.ts";

const UUID = "01890000-0000-7000-8000-000000000000";
const reach = { publicUrl: "https://watch.example:8443", apiKey: "wh_a_b+c" };

test("the addresses of a started process carry its key, and the sockets their own scheme", () => {
  assert.deepEqual(describeStarted(UUID, null, reach), {
    process_uuid: UUID,
    feed_url: `https://watch.example:8443/process/${UUID}/feed?api_key=wh_a_b%2Bc`,
    detection_data_url: `wss://watch.example:8443/process/${UUID}/detection_data?api_key=wh_a_b%2Bc`,
    telemetry_url: "Not configured",
  });
  const plain = describeStarted(UUID, null, { ...reach, publicUrl: "http://127.0.0.1:8080" });
  assert.ok(plain.detection_data_url.startsWith("ws://127.0.0.1:8080/process/"));
});

for (const [type, parameters, expected] of [
  ["websocket", {}, `wss://watch.example:8443/process/${UUID}/telemetry?api_key=wh_a_b%2Bc`],
  ["mqtt", { ip: "10.0.0.7", port: 1883, topic: "drone/7" }, "mqtt://10.0.0.7:1883/drone/7"],
  ["mqtt", { ip: "fe00::7", port: 1883, topic: "t", username: "u", password: "p" }, "mqtt://[fe00::7]:1883/t"],
  ["static", { sensor_hfov: 60 }, "static"],
] as const)
  test(`telemetry of type ${type} is told as ${expected.split("?")[0]}`, () => {
    const telemetry = { type, format: "native", parameters } as const;
    assert.equal(describeStarted(UUID, telemetry, reach).telemetry_url, expected);
  });
