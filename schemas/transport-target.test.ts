import assert from "node:assert/strict";
import { test } from "node:test";
import { readTransportTarget, TRANSPORT_URL } from "./transport-target.ts";

const pattern = new RegExp(TRANSPORT_URL, "u");

test("reads UDP and SRT targets", () => {
  for (const [url, expected] of [
    ["udp://239.1.2.3:5004?ttl=4", { scheme: "udp", host: "239.1.2.3", port: 5004, ttl: 4 }],
    [
      "srt://station.example:9000?streamid=%23!::r=a&passphrase=ten-letters&latency=300",
      {
        ...{ scheme: "srt", host: "station.example", port: 9000, mode: "caller", streamId: "#!::r=a" },
        ...{ passphrase: "ten-letters", latencyMs: 300, keyBytes: null },
      },
    ],
  ] as const) {
    assert.deepEqual(readTransportTarget(url), expected);
    assert.match(url, pattern);
  }
});

test("says what is wrong with others", () => {
  for (const [url, reason] of [
    ["tcp://h:1", /udp:\/\/host:port or srt:\/\/host:port/],
    ["udp://h", /udp:\/\/host:port/],
    ["srt://h:1?mode=listener", /calls the receiver/],
    ["srt://h:1?passphrase=short", /10 to 79/],
  ] as const) {
    const fault = readTransportTarget(url);
    assert.match(typeof fault === "string" ? fault : "", reason);
  }
});
