import assert from "node:assert/strict";
import { test } from "node:test";
import { readCotTarget } from "./cot-target.ts";

test("reads the target from the URL", () => {
  assert.deepEqual(readCotTarget("udp://239.2.3.1:6969?ttl=8"), {
    ...{ scheme: "udp", host: "239.2.3.1", port: 6969, ttl: 8 },
  });
  assert.deepEqual(readCotTarget("udp://[2001:db8::1]:4242/"), {
    ...{ scheme: "udp", host: "2001:db8::1", port: 4242, ttl: 1 },
  });
  assert.deepEqual(readCotTarget("tls://[2001:db8::1]:8089"), { scheme: "tls", host: "2001:db8::1", port: 8089 });
  assert.deepEqual(readCotTarget("tcp://tak.example:8087/"), { scheme: "tcp", host: "tak.example", port: 8087 });
  assert.deepEqual(readCotTarget("mqtt://maps:a%40b@tak.example/site/3%2F4?qos=1"), {
    ...{ scheme: "mqtt", host: "tak.example", port: 1883, topic: "site/3/4", qos: 1 },
    ...{ username: "maps", password: "a@b" },
  });
  assert.deepEqual(readCotTarget("mqtt://10.0.0.1:1884/cot"), {
    ...{ scheme: "mqtt", host: "10.0.0.1", port: 1884, topic: "cot", qos: 0 },
    ...{ username: undefined, password: undefined },
  });
});

for (const url of [
  "udp://host",
  "udp://host:0",
  "udp://host:70000",
  "udp://user@host:1",
  "udp://host:1/path",
  "udp://host:1?ttl=0",
  "udp://host:1?ttl=256",
  "udp://host:1?ttl=2&x=1",
  "udp://host:1#x",
  "mqtt://host",
  "mqtt://host/",
  "mqtt://host/a/+/b",
  "mqtt://host/a/%23",
  "mqtt://host/%00",
  "mqtt://host/$SYS/x",
  "mqtt://host/a?qos=2",
  "mqtt://host/a%zz",
  "mqtt://a@b@host/a",
  "mqtts://host/a",
  "tcp://host",
  "tcp://user@host:1",
  "tls://host:1/path",
  "tls://host:0",
  "ssl://host:1",
  `mqtt://host/${"a".repeat(1025)}`,
])
  test(`rejects ${url.slice(0, 40)}`, () => {
    assert.equal(typeof readCotTarget(url), "string");
  });
