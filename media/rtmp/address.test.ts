import assert from "node:assert/strict";
import { test } from "node:test";
import { readRtmpAddress } from "./address.ts";

test("an address is split before the last segment, and its query goes with the name", () => {
  const rows: [string, object][] = [
    [
      "rtmp://cam.example/live/key",
      { isSecure: false, host: "cam.example", port: 1935, app: "live", name: "key", tcUrl: "rtmp://cam.example/live" },
    ],
    ["rtmps://x:4433/a/b/c?api_key=k", { isSecure: true, port: 4433, app: "a/b", name: "c?api_key=k" }],
    ["rtmps://x/a/b", { port: 443, tcUrl: "rtmps://x/a" }],
    ["rtmp://x:1940/only", { app: "only", name: "", tcUrl: "rtmp://x:1940/only" }],
    ["rtmp://[::1]:19/a/b", { host: "::1", port: 19, tcUrl: "rtmp://[::1]:19/a" }],
    ["rtmp://me:s%40crt@x/a/b", { name: "b?user=me&pass=s%40crt", tcUrl: "rtmp://x/a" }],
    ["rtmp://me:pw@x/a/b?q=1", { name: "b?q=1&user=me&pass=pw" }],
  ];
  for (const [url, expected] of rows) {
    const address = readRtmpAddress(url);
    assert.deepEqual({ ...address, ...expected }, address, url);
  }
});

test("what is no address of RTMP is refused without being repeated", () => {
  for (const url of ["http://secret/a/b", "rtmp:///secret", "secret", ""]) {
    assert.throws(
      () => readRtmpAddress(url),
      (error) => error instanceof TypeError && !error.message.includes("secret"),
    );
  }
});
