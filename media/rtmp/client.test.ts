import assert from "node:assert/strict";
import { test } from "node:test";
import { describeRejection, isRejection, readRtmpAddress } from "./client.ts";

test("splits a URL before the last segment, with the query in the name", () => {
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

test("rejects other URLs without repeating them", () => {
  for (const url of ["http://secret/a/b", "rtmp:///secret", "secret", ""]) {
    assert.throws(
      () => readRtmpAddress(url),
      (error) => error instanceof TypeError && !error.message.includes("secret"),
    );
  }
});

const status = (level: string, code: string, description = "") => ({
  ...{ name: "onStatus", transaction: 0, object: null, args: [{ level, code, description }] },
});

test("errors of a stream and its end are refusals, its start is none", () => {
  assert.ok(isRejection(status("error", "NetStream.Publish.BadName")));
  assert.ok(isRejection(status("status", "NetStream.Unpublish.Success")));
  assert.ok(!isRejection(status("status", "NetStream.Publish.Start")));
  assert.ok(!isRejection({ ...status("error", "NetConnection.Call.Failed"), name: "_error" }));
});

test("quotes the rejection of the server without key and line breaks", () => {
  const rejection = status("error", "x", "no\n room for street?api_key=wh_1_2");
  assert.equal(
    describeRejection(rejection, "street?api_key=wh_1_2"),
    "the server rejected the stream: no  room for ***",
  );
  assert.equal(
    describeRejection(status("error", "NetStream.Failed"), "street"),
    "the server rejected the stream: NetStream.Failed",
  );
  assert.equal(
    describeRejection({ ...rejection, args: [] }, "street"),
    "the server rejected the stream: it gave no reason",
  );
});
