import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { GraphPlan } from "../compiler/plan.ts";
import { GraphFailure } from "./events.ts";
import { explainFailure, findReachFault } from "./explain-failure.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-explain-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const video = join(folder, "video.mp4");
writeFileSync(video, Buffer.alloc(1000, "\x9b\x03\x00\xd1"));
const text = join(folder, "note.txt");
writeFileSync(text, "Dear diary, today I learned to fly.");

const STREAM = "gst-stream-error-quark";
const FLOW = "gstbasesrc.c(3177): gst_base_src_loop (): /x: streaming stopped, reason not-linked (-1)";

/** Explains an error that GStreamer reports in its own words, in any language, at a node of a graph that reads the file. */
function explain(file: string, domain: string, code: number, debug = ""): Promise<string> {
  const nodes = [{ factory: "filesrc", properties: { location: file } }];
  const plan = { main: { nodes }, branches: [], source: null } as unknown as GraphPlan;
  return explainFailure(new GraphFailure("demux", "Interner Fehler.", debug, { gst: { domain, code } }), plan);
}

for (const [what, given, expected] of [
  ["an unknown type", explain(video, STREAM, 4), "is not a video: its content is of an unknown type"],
  ["a text file", explain(text, STREAM, 5), "is not a video but a text file"],
  ["a damaged file", explain(video, STREAM, 9), "cannot be played: Interner Fehler."],
  ["no linked stream", explain(video, STREAM, 1, FLOW), "has no video stream, or none that can be played"],
  [
    "a missing plugin",
    explain(video, "gst-core-error-quark", 12, "no suitable plugins found:\nMissing decoder: H.265 (video/x-h265)"),
    "cannot be played: no decoder for H.265 is installed",
  ],
] as const)
  test(`explains ${what} by the code of the error`, async () => {
    assert.equal((await given).replace(/^\S+ /, ""), expected);
  });

test("leaves errors that are not of the file as they are", async () => {
  const errors = [
    explain(video, STREAM, 1, "Error: at process (elements/x/x.ts:12:7)"), // of an element
    explain(video, STREAM, 5), // of a link that does not fit the stream
    explain(video, "gst-resource-error-quark", 14), // no space left
  ];
  assert.deepEqual(
    await Promise.all(errors),
    errors.map(() => "demux: Interner Fehler."),
  );
});

test("distinguishes a reachable host from a refused connection", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  assert.equal(await findReachFault(`rtsp://user:secret@127.0.0.1:${port}/x`), null);
  server.close();
  await once(server, "close");
  assert.match((await findReachFault(`rtsp://user:secret@127.0.0.1:${port}/x`)) ?? "", /^connection refused/);
});
