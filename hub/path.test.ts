import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { findTrack, readPath, readRequestUrl, readStreamAddress, readStreamId, splitTrack } from "./path.ts";

test("reads a path and its key as clients write them", () => {
  assert.deepEqual(readPath("/anna/drone"), { path: "anna/drone", apiKey: null });
  assert.deepEqual(readPath("anna/drone/front/"), { path: "anna/drone/front", apiKey: null });
  assert.deepEqual(readPath("/anna/cam%2D1?api_key=wh_a%2Bb+c&x=1"), { path: "anna/cam-1", apiKey: "wh_a+b+c" });
  assert.deepEqual(readPath("/anna/drone?x=1&api_key="), { path: "anna/drone", apiKey: null });
  assert.deepEqual(readPath("/anna/drone?api_key=%zz"), { path: "anna/drone", apiKey: null });
  assert.deepEqual(readPath("/_a/0.~-_"), { path: "_a/0.~-_", apiKey: null });
});

test("reads stream ids of SRT callers", () => {
  const cases = {
    "#!::r=anna/drone,u=wh_1_k,m=publish": { path: "anna/drone", secret: "wh_1_k", action: "publish" },
    "#!::m=request,r=/anna/drone/,u=": { path: "anna/drone", secret: null, action: "play" },
    "#!::u=a=b,r=anna/x,t=stream,s=1,h=host": { path: "anna/x", secret: "a=b", action: "play" },
    "anna/drone": "syntax",
    "": "syntax",
    "#!::": "syntax",
    "#!::r=anna": "syntax",
    "#!::r=anna/../bob": "syntax",
    "#!::r=anna/x,r=bob/x": "syntax",
    "#!::r=anna/x,publish": "syntax",
    "#!::r=anna/x,m=bidirectional": "mode",
    "#!::r=anna/x,m=toString": "mode",
    "#!::r=anna/x,t=file": "type",
  };
  for (const [id, expected] of Object.entries(cases)) assert.deepEqual(readStreamId(id), expected, id);
});

test("rejects paths with tricks", () => {
  const tricks = [
    ...["", "/", "anna", "/anna/", "//anna/drone", "/anna//drone", "/anna/drone//", "/anna/../bob/drone"],
    ...["/anna/./drone", "/anna/%2e%2e/bob", "/anna/..%2fbob", "/anna%2fdrone/x", "/anna/.hidden", "/anna/-x"],
    ...["/anna/a b", "/anna/a%00b", "/anna/%zz", "/anna/ü", "/anna/%C3%BC", "/anna/a\\b", "/anna/a\nb", "/anna/a;b"],
    ...["/anna/*", "/anna/a#b", "/anna/a:b", `/anna/${"x".repeat(256)}`, `/anna/x?${"y".repeat(3000)}`],
  ];
  assert.deepEqual(
    tricks.map(readPath).filter((path) => path !== null),
    [],
  );
});

test("limits paths to 255 characters", () => {
  assert.equal(readPath(`/anna/${"x".repeat(250)}`)?.path.length, 255);
  assert.equal(readPath(`/anna/${"x".repeat(251)}`), null);
});

test("any text is a valid path or rejected", () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(..."ab/.%2fFeE?=&\0") }));
  fc.assert(
    fc.property(text, (raw) => {
      const found = readPath(raw);
      if (found === null) return;
      assert.match(found.path, /^\w[\w.~-]*(\/[\w~][\w.~-]*)+$/);
      assert.ok(found.path.length <= 255);
    }),
    { numRuns: 2000 },
  );
});

test("joins app and name into one path, and finds the key in any place", () => {
  const rows: [app: string, name: string, tcUrl: string, path: string | null, secret?: string | null][] = [
    ["user", "cam", "", "user/cam", null],
    ["user", "a/b/c?api_key=k", "", "user/a/b/c", "k"],
    ["user/a/b", "c?api_key=k", "", "user/a/b/c", "k"],
    ["user/a", "", "", "user/a", null],
    ["", "user/a?api_key=k", "", "user/a", "k"],
    ["user/", "/cam/", "", "user/cam", null],
    ["user?api_key=k", "cam", "", "user/cam", "k"],
    ["user", "cam", "rtmp://host/user?api_key=k", "user/cam", "k"],
    ["user?api_key=app", "cam?api_key=name", "rtmp://host/user?api_key=url", "user/cam", "name"],
    ["user", "cam?x=1&api_key=a%2Bb&y", "", "user/cam", "a+b"],
    ["user", "cam?user=me&pass=k", "", "user/cam", "k"],
    ["user", "cam?pass=other&api_key=k", "", "user/cam", "k"],
    ["user", "cam", "rtmp://me:k%21@host/user", "user/cam", "k!"],
    ["user", "cam", "rtmp://me:%zz@host/user", "user/cam", null],
    ["user", "cam?api_key=", "no address", "user/cam", null],
    ["user", "", "", null],
    ["", "", "", null],
    ["user", "../other/cam", "", null],
    ["user", "%2e%2e/cam", "", null],
    ["user/..", "cam", "", null],
    ["user", "a//b", "", null],
  ];
  for (const [app, name, tcUrl, path, secret = null] of rows) {
    const expected = path === null ? null : { path, secret };
    assert.deepEqual(readStreamAddress({ app, tcUrl }, name), expected, `${app} | ${name} | ${tcUrl}`);
  }
});

test("removes user and password from a URL", () => {
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

test("tracks without a name are found by their number, and addresses with a slash too many", () => {
  for (const [asked, track] of [
    ["/a/b/trackID=1", 1],
    ["/a/b/streamid=0", 0],
    ["/a/b//track1/", 1],
    ["/a/b/trackID=2", -1],
    ["/a/c/trackID=1", -1],
    ["/a/b/other", -1],
  ] as const)
    assert.equal(findTrack(asked, "/a/b/?api_key=k", ["", ""]), track, asked);
  assert.equal(findTrack("/a/b//streamid=1", "/a/b/", ["streamid=0", "streamid=1"]), 1);
  assert.equal(findTrack("/a/b/track2", "/a/b", ["/track1", "/track2"]), 1);
  assert.equal(findTrack("/a/b/v", "/a/b", ["rtsp://inside:554/a/b/v?api_key=k"]), 0);
  assert.equal(findTrack("/a/b?t=2", "/a/b", ["rtsp://inside/a/b?t=1", "rtsp://inside/a/b?t=2"]), 1);
});

test("a single track can be set up without a name", () => {
  assert.equal(findTrack("/a/b", "/a/b?api_key=k", [""]), 0);
  assert.equal(findTrack("/a/b", "/a/b", ["", ""]), -1);
});
