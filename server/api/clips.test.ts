import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { SourceVideo } from "../clips/source-video.ts";
import { Thumbnails } from "../clips/thumbnails.ts";
import { WorkFolders } from "../clips/work-folder.ts";
import { type Client, openSourcesService, type SourcesService } from "../sources/sources.fixture.ts";
import { silentLog } from "../store/database.fixture.ts";
import { clipEndpoints } from "./clips.ts";

const FPS = 25;
const ENTRY = new URL("../../graphs/runtime/thumbnails/thumbnails.mjs", import.meta.url);
const folder = mkdtempSync(join(tmpdir(), "windhover-clips-"));

/** Sixty frames: the grey of their halves is the number of the frame, in eights and ones. */
function encodeSteps(name: string, options: readonly string[]): string {
  const path = join(folder, name);
  const input = `nullsrc=size=160x96:rate=${FPS}:duration=2.4,geq=lum='30+25*if(lt(X,W/2),floor(N/8),mod(N,8))':cb=128:cr=128`;
  execFileSync("ffmpeg", ["-v", "error", "-y", "-f", "lavfi", "-i", input, ...options, "-pix_fmt", "yuv420p", path]);
  return path;
}
const H264 = ["-c:v", "libx264", "-qp", "8", "-g", "25", "-sc_threshold", "0"];

/** Which of the frames each picture of a file shows. */
function readSteps(path: string, args: readonly string[] = []): number[] {
  const decode = ["-v", "error", "-i", path, ...args, "-fps_mode", "passthrough", "-vf", "scale=2:1:flags=area"];
  const raw = execFileSync("ffmpeg", [...decode, "-pix_fmt", "gray", "-f", "rawvideo", "-"]);
  const digits = [...raw].map((grey) => Math.round(((grey * 219) / 255 + 16 - 30) / 25) + 0);
  return Array.from({ length: digits.length / 2 }, (_, i) => (digits[2 * i] ?? 0) * 8 + (digits[2 * i + 1] ?? 0));
}

let service: SourcesService;
let client: Client;
let other: Client;
let thumbnails: Thumbnails;
const videos = new Map<string, string>();

async function upload(name: string, path: string): Promise<void> {
  const form = new FormData();
  form.set("file", new Blob([readFileSync(path)]), name);
  const { status, body } = await client.post("/video", form);
  assert.equal(status, 201, JSON.stringify(body));
  videos.set(name, body.uuid);
}

before(async () => {
  service = await openSourcesService({}, {}, async ({ sql, config, sources, confinement }) => {
    const folders = await WorkFolders.open(config.data_dir, confinement);
    thumbnails = new Thumbnails({ entry: ENTRY, confinement, folders, log: silentLog, memoryBytes: 2 ** 30 });
    const video = new SourceVideo({ sql, sources, recordings: { findRange: async () => [] } });
    return clipEndpoints({ video, thumbnails, stallMs: 10_000 });
  });
  [client, other] = [await service.addUser(), await service.addUser()];
  await upload("plain.mp4", encodeSteps("plain.mp4", [...H264, "-bf", "0"]));
  await upload("reordered.mov", encodeSteps("reordered.mov", [...H264, "-bf", "3"]));
  await upload("old.avi", encodeSteps("old.avi", ["-c:v", "mjpeg", "-q:v", "2"]));
});
after(async () => {
  await thumbnails?.close();
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

const get = (name: string, path: string, user: Client = client, headers: Record<string, string> = {}) =>
  service.app.call(`/source/${videos.get(name)}/${path}`, { headers: { api_key: user.user.username, ...headers } });

async function codeOf(answer: Response): Promise<readonly [number, string]> {
  return [answer.status, ((await answer.json()) as { code: string }).code];
}

async function save(answer: Response, status = 200): Promise<string> {
  const path = join(folder, "answer");
  const bytes = Buffer.from(await answer.arrayBuffer());
  assert.equal(answer.status, status, bytes.toString("utf8", 0, 300));
  writeFileSync(path, bytes);
  return path;
}

describe("a clip of a file", () => {
  for (const name of ["plain.mp4", "reordered.mov"])
    test(`shows exactly the frames of the range: ${name}`, async () => {
      const answer = await get(name, "clip?from=0.8&to=1.6");
      assert.equal(answer.headers.get("windhover-clip"), "0.8/1.6");
      assert.equal(answer.headers.get("windhover-gaps"), null);
      assert.match(answer.headers.get("content-disposition") ?? "", /0\.8s\.mp4/);
      const steps = readSteps(await save(answer));
      assert.deepEqual(
        steps,
        Array.from({ length: 20 }, (_, i) => 20 + i),
      );
    });

  test("is sent in ranges that fit together", async () => {
    const whole = Buffer.from(await (await get("plain.mp4", "clip?from=0.5&to=1")).arrayBuffer());
    const ranges = ["bytes=0-99", `bytes=100-${whole.length - 1}`];
    const parts = await Promise.all(ranges.map((range) => get("plain.mp4", "clip?from=0.5&to=1", client, { range })));
    assert.deepEqual(
      parts.map(({ status }) => status),
      [206, 206],
    );
    const bytes = await Promise.all(parts.map(async (part) => Buffer.from(await part.arrayBuffer())));
    assert.ok(Buffer.concat(bytes).equals(whole));
  });

  test("is rejected with what to do", async () => {
    assert.deepEqual(await codeOf(await get("plain.mp4", "clip?from=1&to=2", other)), [404, "source_not_found"]);
    assert.deepEqual(await codeOf(await get("old.avi", "clip?from=1&to=2")), [409, "clip_needs_encoding"]);
    assert.deepEqual(await codeOf(await get("plain.mp4", "clip?from=9&to=10")), [422, "invalid_input"]);
    const time = "2026-05-17T08:30:00Z";
    const kinds = [`clip?from=${time}&to=2026-05-17T08:31:00Z`, `clip?from=1&to=${time}`, "clip?from=2&to=1"];
    for (const query of kinds) assert.deepEqual(await codeOf(await get("plain.mp4", query)), [422, "invalid_input"]);
  });
});

describe("a thumbnail of a file", () => {
  for (const [name, at, frame] of [
    ["plain.mp4", 0, 0],
    ["plain.mp4", 1.01, 25],
    ["plain.mp4", 1.97, 49],
    ["reordered.mov", 0.9, 22],
    ["reordered.mov", 2.39, 59],
    ["old.avi", 1.21, 30],
  ] as const)
    test(`shows the frame on display: ${name} at ${at}`, async () => {
      const answer = await get(name, `thumbnail?at=${at}&width=64`);
      const path = await save(answer);
      assert.equal(answer.headers.get("content-type"), "image/jpeg");
      assert.deepEqual(readSteps(path), [frame]);
      const size = execFileSync("ffprobe", ["-v", "error", "-show_entries", "stream=width", "-of", "csv=p=0", path]);
      assert.equal(Number(size), 64);
    });

  test("is sent once to a client that has it", async () => {
    const first = await get("plain.mp4", "thumbnail?at=1");
    const etag = first.headers.get("etag") ?? "";
    assert.match(first.headers.get("cache-control") ?? "", /private, max-age=/);
    assert.equal((await get("plain.mp4", "thumbnail?at=1", client, { "if-none-match": etag })).status, 304);
  });

  test("is rejected for others, and beyond the end", async () => {
    assert.deepEqual(await codeOf(await get("plain.mp4", "thumbnail?at=1", other)), [404, "source_not_found"]);
    assert.deepEqual(await codeOf(await get("plain.mp4", "thumbnail?at=60")), [422, "invalid_input"]);
  });
});
