import assert from "node:assert/strict";
import { test } from "node:test";
import { readRtspAddress, trackUrl } from "./client.ts";

test("parses a URL, and keeps the password out of requests", () => {
  assert.deepEqual(readRtspAddress("rtsp://us%40er:p%2Fw@host/a/b/?x=1"), {
    host: "host",
    port: 554,
    url: "rtsp://host/a/b?x=1",
    credentials: { user: "us@er", password: "p/w" },
  });
  assert.equal(readRtspAddress("rtsp://[::1]:8554/a/b").host, "::1");
  assert.equal(trackUrl("rtsp://host/a?x=1", 0), "rtsp://host/a/trackID=0?x=1");
  for (const bad of ["", "http://host/a", "rtsp://", "rtsp:///a"])
    assert.throws(() => readRtspAddress(bad), /rtsp:\/\/host\/path/);
});
