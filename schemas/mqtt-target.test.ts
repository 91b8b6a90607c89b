import assert from "node:assert/strict";
import { test } from "node:test";
import { fillTopic, readMqttTarget } from "./mqtt-target.ts";

test("reads the target from the URL", () => {
  assert.deepEqual(
    readMqttTarget(
      "mqtts://ada:a%40b@broker.example/wh/{source_uuid}/tracks/{track_id}?qos=2&retain=true&interval_ms=250",
    ),
    {
      ...{ host: "broker.example", port: 8883, isSecure: true, username: "ada", password: "a@b" },
      ...{ topic: "wh/{source_uuid}/tracks/{track_id}", qos: 2, isRetained: true, intervalMs: 250 },
    },
  );
  assert.deepEqual(readMqttTarget("mqtt://[2001:db8::1]:1884/a%20b"), {
    ...{ host: "2001:db8::1", port: 1884, isSecure: false, username: undefined, password: undefined },
    ...{ topic: "a b", qos: 0, isRetained: false, intervalMs: 0 },
  });
});

const WRONG: readonly [url: string, message: RegExp][] = [
  ["http://host/topic", /is not a URL like mqtt/],
  ["mqtt://host", /is not a URL like mqtt/],
  ["mqtt://host/", /is not a URL like mqtt/],
  ["mqtt://host:0/a", /port 0/],
  ["mqtt://host/a/+/b", /\+ or #/],
  ["mqtt://host/$SYS/a", /begins with \$/],
  ["mqtt://host/a%", /not an escape/],
  ["mqtt://host/{trak_id}", /has \{trak_id\} .*did you mean "track_id"/],
  ["mqtt://host/{track_id", /brace/],
  ["mqtt://host/a?qos=3", /qos/],
  ["mqtt://host/a?qos=1&qos=2", /at most once/],
  ["mqtt://host/a?retain=1", /retain/],
  ["mqtt://host/a?interval=5", /did you mean "interval_ms"|expected each of/],
  ["mqtt://host/a?interval_ms=3600001", /interval_ms/],
];
for (const [url, message] of WRONG) test(`rejects ${url}`, () => assert.match(String(readMqttTarget(url)), message));

test("a value is one level of the topic", () => {
  assert.equal(fillTopic("a/{class_name}/{track_id}", { class_name: "x/y+#\u0000", track_id: 7 }), "a/x_y___/7");
  assert.equal(fillTopic("{a}/{toString}", { b: 1 }), "{a}/{toString}");
});
