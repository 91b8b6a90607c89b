import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { maskCredentials } from "./mask.ts";
import { readListeningPort, readResource, readSrtAddress, readUdpAddress } from "./srt-address.ts";

const NONE = { mode: "caller", streamId: null, passphrase: null, latencyMs: null, keyBytes: null };

test("reads addresses as people write them", () => {
  const cases = {
    "srt://camera.example:9000": { ...NONE, host: "camera.example", port: 9000 },
    "srt://[::1]:9000/?latency=300": { ...NONE, host: "::1", port: 9000, latencyMs: 300 },
    "srt://h:1?mode=listener&passphrase=ten%20letters&pbkeylen=32": {
      ...{ ...NONE, host: "h", port: 1, mode: "listener", passphrase: "ten letters", keyBytes: 32 },
    },
    "srt://h:1?streamid=#!::r=anna/drone,u=k,m=publish&latency=0": {
      ...{ ...NONE, host: "h", port: 1, streamId: "#!::r=anna/drone,u=k,m=publish", latencyMs: 0 },
    },
    "srt://h:1?streamid=%23!::r=a/b": { ...NONE, host: "h", port: 1, streamId: "#!::r=a/b" },
  };
  for (const [text, address] of Object.entries(cases)) assert.deepEqual(readSrtAddress(text), address, text);
  assert.deepEqual(readUdpAddress("udp://239.1.1.1:5000"), { host: "239.1.1.1", port: 5000 });
  assert.deepEqual(readUdpAddress("udp://[::]:5000/"), { host: "::", port: 5000 });
});

test("says what is wrong with others, without their secrets", () => {
  for (const [text, expected] of [
    ["srt://h", /expected srt:\/\/host:port/],
    ["srt://:9000", /expected srt/],
    ["rtsp://h:1", /expected srt/],
    ["srt://h:1?pkt_size=1316", /no setting "pkt_size"; expected streamid, passphrase/],
    ["srt://h:1?passphrase=short", /10 to 79/],
    ["srt://h:1?passphrase=%zz", /escape/],
    ["srt://h:1?latency=-1", /milliseconds/],
    ["srt://h:1?latency=99999", /milliseconds/],
    ["srt://h:1?mode=rendezvous", /neither caller nor listener/],
    ["srt://h:1?pbkeylen=8", /16, 24 or 32/],
    [`srt://h:1?streamid=${"x".repeat(513)}`, /512/],
  ] as const) {
    const fault = readSrtAddress(text);
    assert.ok(typeof fault === "string", text);
    assert.match(fault, expected);
    assert.ok(!fault.includes("short"));
  }
  for (const text of ["udp://h", "udp://h:1/x", "udp://h:1?x=1", "srt://h:1"])
    assert.equal(typeof readUdpAddress(text), "string", text);
});

test("knows which sources listen, and the path of a stream id", () => {
  assert.equal(readListeningPort("udp://0.0.0.0:5000"), 5000);
  assert.equal(readListeningPort("srt://0.0.0.0:9000?mode=listener"), 9000);
  for (const url of ["srt://h:9000", "rtsp://h:554/x", "udp://h", "srt://h?mode=listener"])
    assert.equal(readListeningPort(url), null, url);
  assert.equal(readResource("#!::m=publish,r=anna/drone,u=k"), "anna/drone");
  for (const id of ["anna/drone", "#!::u=k", ""]) assert.equal(readResource(id), null, id);
});

test("secrets of addresses are masked", () => {
  for (const url of [
    "srt://h:1?streamid=#!::r=a/b,u=hunter2&latency=3",
    "srt://h:1?latency=3&streamid=hunter2",
    "srt://h:1?passphrase=hunter2hunter2",
    "cannot play srt://h:1?streamid=%23hunter2&passphrase=hunter2hunter2: rejected",
  ]) {
    const masked = maskCredentials(url);
    assert.ok(!masked.includes("hunter2"), masked);
    assert.match(masked, /srt:\/\/h:1\?/);
  }
});

test("any text is an address or a fault", () => {
  const text = fc.string({ unit: fc.constantFrom(..."srtudp:/?&=#[]%2.1a ") });
  fc.assert(
    fc.property(text, (rest) => {
      for (const url of [rest, `srt://${rest}`, `srt://h:1?${rest}`]) {
        const found = readSrtAddress(url);
        if (typeof found !== "string") assert.ok(found.port > 0 && found.port < 65_536 && found.host !== "");
        readUdpAddress(url);
        readListeningPort(url);
      }
    }),
  );
});
