import assert from "node:assert/strict";
import { test } from "node:test";
import { maskCredentials } from "./mask.ts";

for (const [text, masked] of [
  ["rtsp://cam/main", "rtsp://cam/main"],
  ["rtsp://cam:554/main", "rtsp://cam:554/main"],
  ["rtsp://admin:pass@cam/main", "rtsp://***@cam/main"],
  ["rtsp://admin@cam/main", "rtsp://***@cam/main"],
  ["rtsp://a:p@ss@cam:554/main", "rtsp://***@cam:554/main"],
  ["rtsp://a:p/ss@cam/main", "rtsp://***@cam/main"],
  ["rtsp://cam:554/a@b", "rtsp://cam:554/a@b"],
  ["rtmp://host/live/x?user=me&password=p&n=1", "rtmp://host/live/x?user=me&password=***&n=1"],
  ["rtmp://host/live/x?token=abc", "rtmp://host/live/x?token=***"],
  [
    "Could not open rtsp://u:p@cam/1 (and rtsps://v:q@cam/2).",
    "Could not open rtsp://***@cam/1 (and rtsps://***@cam/2).",
  ],
  ['text=(string)"to\\ rtsp://u:p\\@cam/1", percent=0', 'text=(string)"to\\ rtsp://***@cam/1", percent=0'],
  ["location rtmp://host/live stream x?token=abc", "location rtmp://host/live stream x?token=***"],
  ["/clips/me@home.mp4", "/clips/me@home.mp4"],
] as const) {
  test(`shows ${text} as ${masked}`, () => assert.equal(maskCredentials(text), masked));
}

test("masks private keys", () => {
  const key = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIBx+/a=\n-----END EC PRIVATE KEY-----";
  assert.equal(maskCredentials(`key: ${key}`), "key: ***-----END EC PRIVATE KEY-----");
  assert.equal(maskCredentials("-----BEGIN CERTIFICATE-----\nMII"), "-----BEGIN CERTIFICATE-----\nMII");
});
