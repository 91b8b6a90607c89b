import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { basename, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { makeFilm, withFolder } from "../../native/film.fixture.ts";
import { testConfinement } from "../confinement/confinement.fixture.ts";
import { silentLog } from "../store/database.fixture.ts";
import { VideoProbe } from "./probe.ts";
import { PROBE_ENTRY } from "./sources.fixture.ts";

const CONFIG = { probe_seconds: 30 };

const confinement = await testConfinement();
const never = new AbortController().signal;

/** The outcome when the probe is this program. */
const examineWith = (program: string, config = CONFIG, limits?: { memoryBytes: number; atOnce: number }) =>
  withFolder(async (folder) => {
    const entry = join(folder, "probe.mjs");
    await writeFile(entry, program);
    return new VideoProbe(pathToFileURL(entry), confinement, config, silentLog, limits).examine(
      "file.mp4",
      "anna",
      never,
    );
  });

const refusal = (message: RegExp) => ({ name: "ServiceError", code: "video_invalid", message });

test("examines several videos at once", async () => {
  await withFolder(async (folder) => {
    const file = join(folder, "film.mp4");
    await makeFilm(file, 10, false);
    const probe = new VideoProbe(PROBE_ENTRY, confinement, CONFIG, silentLog);
    const found = await Promise.all([1, 2, 3].map(() => probe.examine(file, "anna", never)));
    for (const { codec, width, height } of found) assert.deepEqual([codec, width, height], ["video/x-h264", 64, 48]);
  });
});

test("kills a probe that does not end", async () => {
  await assert.rejects(
    examineWith("setInterval(() => {}, 1000)", { probe_seconds: 0.5 }),
    refusal(/longer than 0.5 s/),
  );
});

test("kills a probe that uses too much memory", async () => {
  const program = "const all = []; setInterval(() => all.push(Buffer.alloc(2 ** 24, 1)), 1)";
  const limits = { memoryBytes: 2 ** 28, atOnce: 1 };
  await assert.rejects(examineWith(program, CONFIG, limits), refusal(/used \d+ MiB; the limit is/));
});

test("rejects the file if the probe crashes or returns nothing or invalid output", async () => {
  await assert.rejects(examineWith("process.abort()"), refusal(/SIGABRT/));
  await assert.rejects(examineWith(""), refusal(/ended with 0/));
  await assert.rejects(examineWith("console.log('{}')"), refusal(/ended with 0/));
});

test("kills a probe that writes without end", async () => {
  const program = "setInterval(() => process.stdout.write('x'.repeat(100_000)), 1)";
  await assert.rejects(examineWith(program), refusal(/wrote too much output/));
});

test("reports the fault that the probe found", async () => {
  const program = `console.log('{"video":null,"fault":"is a song"}')`;
  await assert.rejects(examineWith(program), refusal(/the file is a song/));
});

test("an aborted request leaves the queue at once, and its probe is killed", async () => {
  await withFolder(async (folder) => {
    const entry = join(folder, "probe.mjs");
    const files: string[] = [];
    const started = createServer((socket) => socket.on("data", (file) => files.push(basename(String(file)))));
    await once(started.listen(0, "127.0.0.1"), "listening");
    const { port } = started.address() as AddressInfo;
    await writeFile(
      entry,
      `import { connect } from "node:net"; connect(${port}, "127.0.0.1").write(process.argv[2]); setInterval(() => {}, 1000);`,
    );
    const limits = { memoryBytes: 2 ** 30, atOnce: 1 };
    const probe = new VideoProbe(pathToFileURL(entry), confinement, { probe_seconds: 600 }, silentLog, limits);
    const clients = ["first", "second"].map((name) => ({ file: join(folder, name), gone: new AbortController() }));
    const [first, second] = clients.map(({ file, gone }) => probe.examine(file, "anna", gone.signal));
    first?.catch(() => {});
    while (files.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    clients[1]?.gone.abort();
    await assert.rejects(second ?? Promise.resolve(), { code: "malformed_request" });
    assert.deepEqual(files, ["first"]);
    clients[0]?.gone.abort();
    await assert.rejects(first ?? Promise.resolve(), { code: "malformed_request" });
    started.close();
  });
});

test("a video waits for others as long as one may take, then its client is asked to try again", async () => {
  await withFolder(async (folder) => {
    const entry = join(folder, "probe.mjs");
    await writeFile(entry, "setInterval(() => {}, 1000)");
    const limits = { memoryBytes: 2 ** 30, atOnce: 1 };
    const probe = new VideoProbe(pathToFileURL(entry), confinement, { probe_seconds: 0.5 }, silentLog, limits);
    const ends = await Promise.allSettled(["a", "b", "c"].map((key) => probe.examine("file.mp4", key, never)));
    const codes = ends.map((end) => (end.status === "rejected" ? (end.reason as { code: string }).code : null));
    assert.equal(codes[0], "video_invalid");
    assert.equal(codes[2], "rate_limited");
  });
});
