import assert from "node:assert/strict";
import { test } from "node:test";
import { findTrack, readRequestUrl, splitTrack } from "./request-url.ts";

test("user and password are taken out of an address", () => {
  assert.deepEqual(readRequestUrl("rtsp://any:a%2Fkey@host:8554/a/b?x=1"), {
    url: "rtsp://host:8554/a/b?x=1",
    rest: "/a/b?x=1",
    password: "a/key",
  });
  assert.equal(readRequestUrl("rtsp://host")?.rest, "");
  for (const bad of ["", "*", "/a/b", "http://host/a"]) assert.equal(readRequestUrl(bad), null);
});

const TRACKS: readonly [string, string, number | null][] = [
  ["/a/b/trackID=1", "/a/b", 1],
  ["/a/b/trackID=1/", "/a/b", 1],
  ["/a/b/trackID=0?api_key=k", "/a/b?api_key=k", 0],
  ["/a/b?api_key=k/trackID=0", "/a/b?api_key=k", 0],
  ["/a/b?api_key=k", "/a/b?api_key=k", null],
  ["/a/trackID=x", "/a/trackID=x", null],
];

for (const [given, rest, track] of TRACKS) {
  test(`${given} is track ${track} of ${rest}`, () => assert.deepEqual(splitTrack(given), { rest, track }));
}

const CONTROLS = ["streamid=0", "rtsp://host/a/b/sound", "track1"];
const FOUND: readonly [string, number][] = [
  ["/a/b/streamid=0?api_key=k", 0],
  ["/a/b?api_key=k/streamid=0", 0],
  ["/a/b/streamid=0", 0],
  ["/a/b/streamid=0/", 0],
  ["/a/b/sound", 1],
  ["/a/b/track1?other=1", 2],
  ["/a/b?api_key=k", -1],
  ["/a/c/streamid=0", -1],
  ["/a/b/streamid=00", -1],
];

for (const [asked, track] of FOUND) {
  test(`${asked} is the announced track ${track}`, () => {
    assert.equal(findTrack(asked, "/a/b?api_key=k", CONTROLS), track);
  });
}

test("the only track may be asked for without a name", () => {
  assert.equal(findTrack("/a/b", "/a/b?api_key=k", [""]), 0);
  assert.equal(findTrack("/a/b", "/a/b", ["", ""]), -1);
});
