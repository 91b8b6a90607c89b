import assert from "node:assert/strict";
import { test } from "node:test";
import { expandIngest, type IngestOptions } from "./expand.ts";

const OPTIONS: IngestOptions = { transport: "tcp", latencyMs: 150, connectMs: 4500, stallMs: 2500 };
const pull = (protocol: "rtsp" | "rtmp", options: Partial<IngestOptions> = {}) =>
  expandIngest({ kind: "live", protocol, url: `${protocol}://h/a/b`, display: "" }, { ...OPTIONS, ...options }).nodes;

test("sets the limits of an RTSP source in the units of GStreamer", () => {
  const [camera] = pull("rtsp");
  assert.equal(camera?.factory, "rtspsrc");
  assert.equal(camera?.onward, "application/x-rtp,media=video");
  assert.deepEqual(camera?.properties, {
    location: "rtsp://h/a/b",
    protocols: "tcp",
    latency: 150,
    "tcp-timeout": 4_500_000,
    timeout: 2_250_000,
    "add-reference-timestamp-meta": true,
  });
});

test("rounds the limits of an RTMP source up to seconds", () => {
  const [stream] = pull("rtmp");
  assert.equal(stream?.factory, "rtmp2src");
  assert.deepEqual(stream?.properties, { location: "rtmp://h/a/b", timeout: 5, "idle-timeout": 3 });
});

for (const [transport, protocols] of [
  ["tcp", "tcp"],
  ["udp", "udp+udp-mcast"],
  ["auto", "tcp+udp-mcast+udp"],
] as const) {
  test(`transport ${transport} allows ${protocols}`, () =>
    assert.equal(pull("rtsp", { transport })[0]?.properties.protocols, protocols));
}

test("the ingest ends in a bounded appsink that never blocks", () => {
  const { factory, properties } = pull("rtsp").at(-1) ?? assert.fail("no node");
  assert.equal(factory, "appsink");
  assert.equal(properties.drop, true);
  assert.ok(Number(properties["max-buffers"]) > 0);
});

test("sets stream id, passphrase and latency of an SRT source apart from its address", () => {
  const url = "srt://192.0.2.1:9000?streamid=%23!::r=a/b&passphrase=ten%20letters&latency=300";
  const expand = (url: string) => expandIngest({ kind: "live", protocol: "srt", url, display: "" }, OPTIONS).nodes[0];
  assert.equal(expand(url)?.factory, "srtsrc");
  assert.deepEqual(expand(url)?.properties, {
    uri: "srt://192.0.2.1:9000?mode=caller",
    latency: 300,
    streamid: "#!::r=a/b",
    passphrase: "ten letters",
    "auto-reconnect": false,
  });
  assert.equal(expand("srt://192.0.2.1:9000")?.properties.latency, 150);
});

test("a UDP source never shares its port", () => {
  const [source] = expandIngest(
    { kind: "live", protocol: "udp", url: "udp://0.0.0.0:5000", display: "" },
    OPTIONS,
  ).nodes;
  assert.equal(source?.factory, "udpsrc");
  const { address, port, reuse } = source?.properties ?? {};
  assert.deepEqual([address, port, reuse], ["0.0.0.0", 5000, false]);
});
