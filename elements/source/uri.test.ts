import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ExpandFault } from "../element.ts";
import { describeSource, type SourceDescription } from "./uri.ts";

const picture = { kind: "test", pattern: "smpte", width: 640, height: 360, framerate: "25/1", frames: null } as const;

for (const [uri, expected] of [
  ["clip.mp4", { kind: "file", path: "clip.mp4", display: "clip.mp4" }],
  ["/a b/c:d.mp4", { kind: "file", path: "/a b/c:d.mp4", display: "/a b/c:d.mp4" }],
  ["file:///a%20b.mp4", { kind: "file", path: "/a b.mp4", display: "/a b.mp4" }],
  ["file:clips/a.mp4", { kind: "file", path: "clips/a.mp4", display: "clips/a.mp4" }],
  ["test:", { ...picture, display: "test:" }],
  ["test:ball?frames=50", { ...picture, pattern: "ball", frames: 50, display: "test:ball?frames=50" }],
  [
    "test:snow?width=1920&height=1080&fps=30000/1001&seconds=10",
    {
      ...picture,
      pattern: "snow",
      width: 1920,
      height: 1080,
      framerate: "30000/1001",
      frames: 300,
      display: "test:snow?width=1920&height=1080&fps=30000/1001&seconds=10",
    },
  ],
  ["test:ball?fps=12.5", { ...picture, pattern: "ball", framerate: "12500/1000", display: "test:ball?fps=12.5" }],
  [
    "RTSPS://me:secret@cam:322/main",
    { kind: "live", protocol: "rtsp", url: "RTSPS://me:secret@cam:322/main", display: "RTSPS://***@cam:322/main" },
  ],
  ["rtmp://host/live/x", { kind: "live", protocol: "rtmp", url: "rtmp://host/live/x", display: "rtmp://host/live/x" }],
] as const satisfies readonly (readonly [string, SourceDescription])[]) {
  test(`parses ${uri}`, () => assert.deepEqual(describeSource(uri), expected));
}

for (const [uri, message] of [
  ["", /empty/],
  ["http://host/clip.mp4", /"http:" is not a supported scheme; expected a file, "test:PATTERN"/],
  ["rtsp://", /host or port/],
  ["rtsp://u:topsecret@cam:port/x", /rtsp:\/\/\*\*\*@cam:port\/x/],
  ["rtmp://host/live", /application and stream/],
  ["file://elsewhere/a.mp4", /not a file on this machine/],
  ["file:%zz", /not a file on this machine/],
  ["test:ball?widht=3", /no setting "widht".*did you mean "width"/],
  ["test:ball?width=3", /width is "3"; expected a whole number from 16 to 8192/],
  ["test:ball?width=wide", /width is "wide"/],
  ["test:ball?fps=0", /fps is "0"/],
  ["test:ball?fps=1/0", /fps is "1\/0"/],
  ["test:ball?frames=0", /frames is "0"/],
  ["test:ball?seconds=-1", /seconds is "-1"; expected a number above 0/],
  ["test:ball?seconds=1&frames=2", /not both/],
] as const) {
  test(`rejects ${JSON.stringify(uri)} with the reason`, () => {
    assert.throws(
      () => describeSource(uri),
      (error) => {
        assert.ok(error instanceof ExpandFault);
        assert.equal(error.property, "uri");
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /topsecret/);
        return true;
      },
    );
  });
}

test("any text is parsed or rejected with ExpandFault", () => {
  const start = fc.constantFrom("", "test:", "test:ball?", "file:", "file://", "rtsp://", "rtmp://h/", "srt://");
  fc.assert(
    fc.property(start, fc.string(), (scheme, rest) => {
      try {
        assert.ok(describeSource(scheme + rest).display);
      } catch (error) {
        assert.ok(error instanceof ExpandFault, String(error));
      }
    }),
  );
});
