import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { makeClip } from "../../media/mp4/clip.fixture.ts";
import { countWithGstreamer, hashPictures, probePackets } from "../../media/mp4/decode.fixture.ts";
import { findIntact, type Intact } from "../../media/mp4/fragment-index.ts";
import { runChild } from "../../test/child.fixture.ts";
import { makeFolder, TestRecording } from "./recorder.fixture.ts";
import { type RepairOptions, repairRecordings } from "./repair.ts";
import type { RecordingMessage } from "./writer.ts";

const { file: PROGRAM, execArgv } = runChild(new URL("crash.child.ts", import.meta.url));
type Said = RecordingMessage | { readonly type?: undefined; readonly fedUs: number };

/** Until `isEnough`, then it is killed; or until it ends by itself. */
async function record(folder: string, isEnough: (said: Said) => boolean, ...more: readonly string[]) {
  const child = fork(PROGRAM, [folder, ...more], { execArgv: [...execArgv] });
  const said: Said[] = [];
  child.on("message", (message: Said) => {
    said.push(message);
    if (isEnough(message)) child.kill("SIGKILL");
  });
  const [code, signal] = await once(child, "exit");
  const fedUs = Math.max(...said.map((message) => (message.type === undefined ? message.fedUs : 0)));
  const reported = said.flatMap((message) => (message.type === "segment" ? [message.segment] : []));
  return { fedUs, reported, said, exit: signal ?? code };
}

async function inspect(name: string): Promise<Intact> {
  const file = await open(name);
  try {
    return await findIntact(file);
  } finally {
    await file.close();
  }
}

async function repair(folder: string, options: Partial<RepairOptions> = {}): Promise<RecordingMessage[]> {
  const messages: RecordingMessage[] = [];
  const notify = (message: RecordingMessage) => messages.push(message);
  await repairRecordings({
    folder,
    isActive: () => false,
    isUnreported: () => false,
    notify,
    log: () => {},
    ...options,
  });
  return messages;
}

/** All of it is decoded, by two decoders, without a complaint. */
function checkPlays(file: string, pictures: number): void {
  assert.equal(hashPictures(file).length, pictures);
  assert.equal(countWithGstreamer(file, 320, 180), pictures);
}

describe("a recorder that is killed", () => {
  for (const killUs of [1_300_000, 2_430_000]) {
    test(`after ${killUs / 1e6} s, it has lost less than a second`, async (t: TestContext) => {
      const folder = await makeFolder(t);
      const { fedUs, reported, exit } = await record(folder, (said) => said.type === undefined && said.fedUs >= killUs);
      assert.equal(exit, "SIGKILL");
      const file = join(folder, "one", "0.mp4");
      const { bytes, durationUs, fragments } = await inspect(file);
      t.diagnostic(`lost ${Math.round((fedUs - durationUs) / 1000)} ms`);
      assert.ok(fedUs - durationUs < 1_000_000, `${durationUs} of ${fedUs} microseconds are there`);
      assert.ok(bytes >= (reported.at(-1)?.bytes ?? Number.POSITIVE_INFINITY), "what was reported as written is there");
      const pictures = fragments.reduce((sum, fragment) => sum + fragment.pictures, 0);
      checkPlays(file, pictures);

      const messages = await repair(folder);
      assert.deepEqual(
        messages.map(({ type }) => type),
        ["segment", "recorded"],
      );
      const repaired = messages[0]?.type === "segment" ? messages[0].segment : null;
      const { size } = statSync(file);
      assert.deepEqual(repaired && { ...repaired, startedAtMs: 0 }, {
        recording: "one",
        path: "user/camera",
        index: 0,
        startedAtMs: 0,
        durationMs: durationUs / 1000,
        bytes: size,
      });
      assert.equal(repaired?.startedAtMs, reported[0]?.startedAtMs);
      checkPlays(file, pictures);
      assert.deepEqual(await repair(folder), [], "nothing is left to repair");
    });
  }

  test("truncates an incomplete fragment", async (t) => {
    const { recorder, folder, file } = await TestRecording.open(t).then((made) => ({ ...made, file: made.file(0) }));
    const clip = makeClip({ seconds: 2 });
    recorder.setTracks(clip.tracks);
    for (const unit of clip.units) recorder.push(unit);
    recorder.end();
    await recorder.done;
    const { bytes, fragments } = await inspect(file);
    const { offset } = fragments.at(-1) ?? { offset: 0 };
    const whole = readFileSync(file).subarray(0, bytes);
    writeFileSync(file, Buffer.concat([whole, whole.subarray(offset, offset + 1000)]));
    assert.equal((await inspect(file)).bytes, bytes);
    assert.equal((await repair(folder)).length, 2);
    checkPlays(file, clip.pictures);
  });
});

test("a full disk ends the recording, and the written part is playable", async (t) => {
  const folder = await makeFolder(t);
  const { said, reported, exit } = await record(folder, () => false, "150000");
  assert.equal(exit, 0);
  const ends = said.filter(({ type }) => type === "recorded");
  assert.equal(ends.length, 1);
  assert.match((ends[0] as { detail: string }).detail, /^the recording could not be written \(EFBIG\)$/);
  const file = join(folder, "one", "0.mp4");
  assert.equal(reported.at(-1)?.bytes, statSync(file).size);
  assert.equal(hashPictures(file).length, probePackets(file).filter(({ codec_type }) => codec_type === "video").length);
});

describe("repair", () => {
  test("reports finished files of recordings that the server lacks reports of", async (t) => {
    const { recorder, folder, file, segments } = await TestRecording.open(t).then((made) => ({
      ...{ recorder: made.recorder, folder: made.folder, file: made.file(0) },
      segments: () => made.segments,
    }));
    const clip = makeClip({ seconds: 2 });
    recorder.setTracks(clip.tracks);
    for (const unit of clip.units) recorder.push(unit);
    recorder.end();
    await recorder.done;
    const before = readFileSync(file);
    assert.deepEqual(await repair(folder), [], "nothing to repair");
    const reported = await repair(folder, { isUnreported: () => true });
    assert.deepEqual(
      reported.map(({ type }) => type),
      ["segment", "recorded"],
    );
    assert.deepEqual(
      reported[0]?.type === "segment" && reported[0].segment,
      segments().at(-1),
      "as its writer reported it",
    );
    assert.ok(readFileSync(file).equals(before), "it is left as it is");
  });

  test("removes empty files and folders, and keeps others", async (t) => {
    const folder = await makeFolder(t);
    const write = (recording: string, name: string, content: string) => {
      mkdirSync(join(folder, recording), { recursive: true });
      writeFileSync(join(folder, recording, name), content);
    };
    write("torn", "0.mp4", "\0\0\0\x18ftypiso6");
    write("empty", "0.mp4", "");
    write("foreign", "notes.txt", "not ours");
    write("active", "0.mp4", "");
    writeFileSync(join(folder, "file"), "no folder");
    assert.deepEqual(await repair(folder, { isActive: (recording) => recording === "active" }), []);
    const left = ["torn", "empty", "foreign/notes.txt", "active/0.mp4", "file"].filter((name) =>
      existsSync(join(folder, name)),
    );
    assert.deepEqual(left, ["foreign/notes.txt", "active/0.mp4", "file"]);
  });

  test("a missing folder needs no repair", async () => {
    assert.deepEqual(await repair("/nowhere/at/all"), []);
  });
});
