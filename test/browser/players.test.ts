import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import type { ClipRecord } from "../../schemas/api/clips.ts";
import type { OutputRecord } from "../../schemas/api/outputs.ts";
import type { StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord, StreamStats } from "../../schemas/api/sources.ts";
import {
  countSoundBytes,
  medianAgeMs,
  type ShownFrame,
  untilState,
  watchFrames,
} from "../../tools/bench/media/browser.ts";
import { publishTimeCode, readTimeCode, type TimeCodePublisher } from "../../tools/bench/media/time-code.ts";
import { Detections } from "../api/process-client.fixture.ts";
import { MASTER_KEY, TestService, uploadVideo } from "../api/service.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { openBrowser } from "./browser.fixture.ts";

const FRAMES = 30;
const [WIDTH, HEIGHT] = [320, 180];
/** Small and slow: encoders, players and the browser share the processor with other tests. */
const PICTURE = { width: WIDTH, height: HEIGHT, framesPerSecond: 15 };
const VIEW = { width: 480, height: 300 };

const [service, browser] = await Promise.all([TestService.start(), openBrowser()]);
const publishers: TimeCodePublisher[] = [];
after(async () => {
  await browser.close();
  for (const publisher of publishers) await publisher.stop();
  await service.close();
});

const { rtsp = "" } = await service.serving.event("ready");
const { username } = await service.expect<{ username: string }>(200, "GET", "/user_info");

/** Registers a media-server source; returns its pages and a publisher. */
async function register(name: string) {
  const address = `${rtsp}/${username}/${name}`;
  const { uuid } = await service.expect<SourceRecord>(201, "POST", "/stream", {
    json: { alias: name, stream_type: "rtsp", input_url: address },
  });
  const publish = (options = {}): TimeCodePublisher => {
    const publisher = publishTimeCode({ url: `${address}?api_key=${MASTER_KEY}`, ...PICTURE, ...options });
    publishers.push(publisher);
    return publisher;
  };
  const source = await service.expect<SourceRecord>(200, "GET", `/source/${uuid}`);
  const token = new URL(source.hls_url ?? "").searchParams.get("token") ?? "";
  const page = (kind: "hls" | "webrtc", rights = `?token=${token}`) => `${service.url}/source/${uuid}/${kind}${rights}`;
  return { uuid, publish, page };
}

/**
 * Every picture is readable, pictures are in order, and they change. On a busy machine two callbacks may read the same
 * picture.
 */
function assertMoving(frames: readonly ShownFrame[], width: number): void {
  const codes = frames.map(({ code }) => code ?? assert.fail(`unreadable pictures: ${JSON.stringify(frames)}`));
  for (const [i, code] of codes.entries())
    if (i > 0) assert.ok(code >= (codes[i - 1] ?? 0), `frame ${i} is older than the one before: ${codes}`);
  assert.ok(new Set(codes).size > frames.length / 2, `the picture does not change: ${codes}`);
  assert.ok(frames.every((frame) => frame.width === width));
}

const words = (page: Page) => page.locator("#message").innerText();
const facts = (page: Page) => page.locator("#facts").innerText();

test("a browser plays a published stream by WebRTC and HLS, and again after an interruption", async (t) => {
  const camera = await register("camera");
  const [webrtc, hls] = await Promise.all([
    browser.show(camera.page("webrtc"), VIEW),
    browser.show(camera.page("hls"), VIEW),
  ]);
  await Promise.all([webrtc, hls].map((page) => page.waitForSelector("text=Stream offline: retrying")));
  const publisher = camera.publish({ hasSound: true });
  await Promise.all([webrtc, hls].map((page) => untilState(page, "live")));

  const [byWebrtc, byHls] = [await watchFrames(webrtc, FRAMES), await watchFrames(hls, FRAMES)];
  assertMoving(byWebrtc, WIDTH);
  assertMoving(byHls, WIDTH);
  t.diagnostic(`WebRTC: ${medianAgeMs(byWebrtc)} ms latency, HLS: ${medianAgeMs(byHls)} ms (medians)`);
  await webrtc.waitForSelector("text=320×180");
  assert.match(await facts(webrtc), /^320×180 · \d+ ms from the server · \d+ fps$/);
  assert.match(await facts(hls), /^320×180 · [\d.]+ m?s behind$/);
  assert.ok(await hls.locator("#sound").isVisible(), "HLS has the sound");
  assert.ok(await webrtc.locator("#sound").isHidden());
  assert.ok((await countSoundBytes(hls)) > 0);

  await publisher.stop();
  await Promise.all([webrtc, hls].map((page) => untilState(page, "wait")));
  assert.match(await words(webrtc), /^Stream offline/);
  const second = camera.publish({ width: 160, height: 120 });
  await Promise.all([webrtc, hls].map((page) => untilState(page, "live")));
  assertMoving(await watchFrames(webrtc, 20), 160);
  assertMoving(await watchFrames(hls, 20), 160);
  await Promise.all([webrtc.close(), hls.close(), second.stop()]);
});

test("the WebRTC page explains that B-frames are not supported, and links to HLS", async () => {
  const film = await register("film");
  const publisher = film.publish({ bFrames: 2, keySeconds: 0.5 });
  const page = await browser.show(film.page("webrtc"), VIEW);
  await untilState(page, "fault");
  assert.match(await words(page), /B-frames/);
  await page.click("text=Watch over HLS instead");
  await untilState(page, "live");
  assertMoving(await watchFrames(page, FRAMES), WIDTH);
  await Promise.all([page.close(), publisher.stop()]);
});

test("H.265 is analysed; a browser without a decoder gets the reason, and the processed video as H.264", async () => {
  const camera = await register("h265");
  const publisher = camera.publish({ codec: "h265", width: WIDTH, height: HEIGHT });
  await poll("the source is live", async () => {
    const { status } = await service.expect<SourceRecord>(200, "GET", `/source/${camera.uuid}`);
    return status === "streaming";
  });
  for (const [kind, reason] of [
    ["webrtc", /This stream is H\.265, which this browser does not offer to decode/],
    ["hls", /This browser cannot decode the stream\s+Most browsers do not decode H\.265/],
  ] as const) {
    const page = await browser.show(camera.page(kind));
    await untilState(page, "fault");
    assert.match(await words(page), reason);
    await page.close();
  }
  // Almost no inference, but a message for every frame.
  const json = { params: { every: 1000, include_predicted: true } };
  const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${camera.uuid}`, { json });
  const detections = await Detections.open(started.detection_data_url);
  await detections.next(20);
  detections.close();
  const attach = async (codec?: "h265"): Promise<OutputRecord> => {
    const body = { alias: "out", type: "rtsp", url: `rtsp://processed/${codec ?? "plain"}`, ...(codec && { codec }) };
    const output = await service.expect<OutputRecord>(201, "POST", "/output", { json: body });
    await service.expect(200, "POST", `/process/${started.process_uuid}/${output.uuid}`);
    return poll("the output is live", async () => {
      const shown = await service.expect<OutputRecord>(200, "GET", `/output/${output.uuid}`);
      return shown.status === "live" && shown;
    });
  };
  const [plain, small] = [await attach(), await attach("h265")];
  assert.deepEqual([plain.codec, small.codec], ["h264", "h265"]);
  const token = new URL(plain.webrtc_url ?? "").searchParams.get("token");
  const page = await browser.show(`${service.url}/output/${plain.uuid}/webrtc?token=${token}`);
  await untilState(page, "live");
  assertMoving(await watchFrames(page, FRAMES), WIDTH);
  await page.close();
  // Decoded, encoded as H.265 and decoded again, every frame has its number.
  const path = join(temporaryFolder(), "output.mp4");
  const input = ["-rtsp_transport", "tcp", "-i", `${small.play_url}?api_key=${MASTER_KEY}`];
  await promisify(execFile)("ffmpeg", ["-v", "error", ...input, "-frames:v", String(FRAMES), "-c", "copy", path]);
  const { stdout } = await promisify(execFile)("ffprobe", [
    ...["-v", "error", "-show_entries", "stream=codec_name,width", "-of", "csv=p=0", path],
  ]);
  assert.equal(stdout.trim(), `hevc,${WIDTH}`);
  const { codes } = await decodeCodes(await readFile(path));
  // A publisher that catches up makes two in the same millisecond.
  for (const [i, code] of codes.entries()) assert.ok(i === 0 || code >= (codes[i - 1] ?? 0), String(codes));
  await service.expect(200, "DELETE", `/process/${started.process_uuid}`);
  await publisher.stop();
});

test("a page without a valid token shows an error", async () => {
  const camera = await register("private");
  const publisher = camera.publish();
  for (const rights of ["", "?token=wrong"]) {
    for (const kind of ["hls", "webrtc"] as const) {
      const page = await browser.show(camera.page(kind, rights), VIEW);
      await untilState(page, "fault");
      assert.match(await words(page), /Not allowed\s+This URL.*Request a new one/);
      await page.close();
    }
  }
  await publisher.stop();
});

test("the pages only send requests to the service, and comply with their security policy", () => {
  const foreign = browser.requested.filter((url) => !url.startsWith(service.url) && !url.startsWith("blob:"));
  assert.deepEqual(foreign, []);
  assert.deepEqual(browser.complaints, []);
});

/** Time codes of all frames of a file, as ffmpeg shows them, and their times in milliseconds. */
async function decodeCodes(bytes: Uint8Array): Promise<{ readonly codes: number[]; readonly times: number[] }> {
  const folder = temporaryFolder();
  const path = join(folder, "clip.mp4");
  await writeFile(path, bytes);
  const run = promisify(execFile);
  const words = ["-v", "error", "-i", path, "-fps_mode", "passthrough", "-pix_fmt", "gray", "-f", "rawvideo"];
  await run("ffmpeg", [...words, join(folder, "raw")]);
  const raw = await readFile(join(folder, "raw"));
  const size = WIDTH * HEIGHT;
  const codes = Array.from({ length: raw.length / size }, (_, i) => {
    const data = raw.subarray(i * size, (i + 1) * size);
    return readTimeCode({ data, width: WIDTH, height: HEIGHT, step: 1 }) ?? assert.fail(`frame ${i} is unreadable`);
  });
  const shown = ["-show_entries", "frame=pts_time", "-of", "csv=p=0"];
  const { stdout } = await run("ffprobe", ["-v", "error", "-select_streams", "v", ...shown, path]);
  const times = stdout.split("\n").filter((line) => line !== "");
  return { codes, times: times.map((line) => Number.parseFloat(line) * 1000) };
}

/** A shorter step between two frames is not a gap, a longer one always is; between them it depends on the usual step. */
const GAP_MS = [500, 2_000] as const;
const CLIP_VIEW = new URL("clip-view.js", import.meta.url);

/** The time codes that a video element shows before it plays, and when it has ended. */
async function readEnds(page: Page, url: string): Promise<(number | null)[]> {
  const view = await readFile(CLIP_VIEW, "utf8");
  const pictures = await page.evaluate<number[][]>(`${view}\nwindow.readEnds(${JSON.stringify(url)})`);
  return pictures.map((data) => readTimeCode({ data, width: WIDTH, height: HEIGHT, step: 1 }));
}

/** A busy browser may not paint the last frame in time: then it plays the clip again. */
async function expectEnds(page: Page, url: string, expected: readonly (number | undefined)[]): Promise<void> {
  let shown = await readEnds(page, url);
  for (let i = 0; i < 2 && shown[1] !== expected[1]; i++) shown = await readEnds(page, url);
  assert.deepEqual(shown, expected);
}

// Without B-frames: media/mp4/clip.test.ts.
for (const [codec, bFrames] of [
  ["h264", 3],
  ["h265", 2],
] as const)
  test(`a clip of a recording begins and ends with the requested frames: ${codec}, ${bFrames} B-frames`, async (t) => {
    const camera = await register(`recorded-${codec}-${bFrames}`);
    const beganMs = Date.now();
    const publisher = camera.publish({ codec, bFrames, hasSound: true, width: WIDTH, height: HEIGHT });
    const at = (ms: number) => new Date(ms).toISOString();
    const urlOf = (fromMs: number, toMs: number) =>
      `${service.url}/source/${camera.uuid}/clip?from=${at(fromMs)}&to=${at(toMs)}&api_key=${MASTER_KEY}`;
    const whole = await poll("four seconds are recorded", async () => {
      // A clip is made for every answer.
      if (Date.now() - beganMs < 4000) return null;
      const response = await fetch(urlOf(beganMs - 60_000, Date.now() + 60_000));
      const [, range = ""] = /^(.*)$/.exec(response.headers.get("windhover-clip") ?? "") ?? [];
      const [from = 0, to = 0] = range.split("/").map((text) => Date.parse(text));
      return response.status === 200 && to - from > 4000
        ? { from, bytes: Buffer.from(await response.arrayBuffer()) }
        : null;
    });
    await publisher.stop();
    const { codes, times } = await decodeCodes(whole.bytes);
    const [first, end] = [Math.floor(codes.length * 0.3), Math.floor(codes.length * 0.8)];
    // Between two frames: the first one is on display, the last one is over.
    const before = (i: number) => whole.from + ((times[i - 1] ?? 0) + (times[i] ?? 0)) / 2;
    const [fromMs, toMs] = [before(first + 1), before(end)];
    const url = urlOf(fromMs, toMs);
    const response = await fetch(url);
    // On a busy machine the publisher may pause.
    const steps = times.slice(first + 1, end + 1).map((ms, i) => ms - (times[first + i] ?? 0));
    const longest = Math.max(...steps);
    if (longest <= GAP_MS[0]) assert.equal(response.headers.get("windhover-gaps"), null);
    if (longest > GAP_MS[1]) assert.notEqual(response.headers.get("windhover-gaps"), null);
    assert.match(response.headers.get("content-disposition") ?? "", /recorded-h26\d-\d 20.*\.mp4/);
    const bytes = Buffer.from(await response.arrayBuffer());
    const clip = await decodeCodes(bytes);
    assert.deepEqual(clip.codes, codes.slice(first, end));
    // The time on the wall, and the time that the picture shows.
    const delays = codes.map((code, i) => whole.from + (times[i] ?? 0) - (beganMs - (beganMs % 2 ** 32)) - code);
    t.diagnostic(
      `frames are recorded ${Math.round(Math.min(...delays))} to ${Math.round(Math.max(...delays))} ms later`,
    );
    // The same of an upload, and single pictures of both.
    const path = join(temporaryFolder(), "whole.mp4");
    await writeFile(path, whole.bytes);
    const uploaded = `${service.url}/source/${(await uploadVideo(service, path)).uuid}`;
    const inFile = (ms: number) => ((ms - whole.from) / 1000).toFixed(6);
    const fileUrl = `${uploaded}/clip?from=${inFile(fromMs)}&to=${inFile(toMs)}&api_key=${MASTER_KEY}`;
    const ofFile = await decodeCodes(Buffer.from(await (await fetch(fileUrl)).arrayBuffer()));
    assert.deepEqual(ofFile.codes, clip.codes);
    for (const picture of [
      `${service.url}/source/${camera.uuid}/thumbnail?at=${at(fromMs)}`,
      `${uploaded}/thumbnail?at=${inFile(fromMs)}`,
    ]) {
      const answer = await fetch(`${picture}&width=${WIDTH}&api_key=${MASTER_KEY}`);
      const { codes: shown } = await decodeCodes(Buffer.from(await answer.arrayBuffer()));
      assert.deepEqual(shown, [clip.codes[0]]);
    }
    // Encoded again, it has the same frames.
    const json = { source_uuid: camera.uuid, from: at(fromMs), to: at(toMs) };
    const { uuid: rendered } = await service.expect<ClipRecord>(202, "POST", "/clips", { json });
    const downloadUrl = await poll("it is rendered", async () => {
      const { download_url, error } = await service.expect<ClipRecord>(200, "GET", `/clip/${rendered}`);
      assert.equal(error, null);
      return download_url;
    });
    const again = await decodeCodes(Buffer.from(await (await fetch(downloadUrl)).arrayBuffer()));
    assert.deepEqual(again.codes, clip.codes);
    if (codec === "h264") {
      const page = await browser.show(camera.page("hls"), VIEW);
      for (const played of [url, fileUrl]) await expectEnds(page, played, [clip.codes[0], clip.codes.at(-1)]);
      await page.close();
    }
    const part = await fetch(url, { headers: { range: "bytes=500-10499" } });
    assert.equal(part.status, 206);
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(500, 10_500));
  });

/** Draws a time code on a canvas, as `drawTimeCode` does, and publishes it by WHIP. Runs in the page. */
const PUBLISH = `async ({ url, key, width, height }) => {
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d");
  const draw = () => {
    const value = Date.now() % 2 ** 32;
    const bytes = [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
    bytes.push(bytes.reduce((sum, byte) => sum ^ byte, 0x5a));
    context.fillStyle = "#808080";
    context.fillRect(0, 0, width, height);
    for (let i = 0; i < 40; i++) {
      context.fillStyle = (bytes[i >> 3] >> (7 - (i & 7))) & 1 ? "#ffffff" : "#000000";
      const x = i % 10, y = Math.floor(i / 10);
      context.fillRect((x * width) / 10, (y * height) / 16, width / 10, height / 16);
    }
  };
  draw();
  window.drawing = setInterval(draw, 40);
  const [track] = canvas.captureStream(25).getVideoTracks();
  track.contentHint = "detail";
  const peer = (window.peer = new RTCPeerConnection());
  const transceiver = peer.addTransceiver(track, { direction: "sendonly" });
  const { codecs } = RTCRtpSender.getCapabilities("video");
  transceiver.setCodecPreferences(codecs.filter(({ mimeType }) => mimeType === "video/H264"));
  await peer.setLocalDescription();
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization: "Bearer " + key, "content-type": "application/sdp" },
    body: peer.localDescription.sdp,
  });
  if (response.status === 201) await peer.setRemoteDescription({ type: "answer", sdp: await response.text() });
  else peer.close();
  return { status: response.status, location: response.headers.get("location") ?? "" };
}`;

test("a browser publishes by WHIP, and its frames are played and recorded until it ends the session", async (t) => {
  const phone = await register("phone");
  // A page of the service: other origins need CORS.
  const page = await browser.show(phone.page("hls"));
  const options = { url: `${service.url}/source/${phone.uuid}/whip`, key: MASTER_KEY, width: WIDTH, height: HEIGHT };
  const read = () => service.expect<SourceRecord>(200, "GET", `/source/${phone.uuid}`);
  let session = "";
  // Like an encoder, it tries again: on a busy machine, a browser may take longer to connect than the hub waits.
  await poll("the source is streaming", async () => {
    if ((await read()).status === "streaming") return true;
    const published = await page.evaluate<{ status: number; location: string }>(
      `(${PUBLISH})(${JSON.stringify(options)})`,
    );
    assert.ok([201, 409].includes(published.status), String(published.status));
    if (published.status === 201) session = new URL(published.location).pathname;
    return false;
  });
  const again = await service.send("POST", `/source/${phone.uuid}/whip`, {
    ...{ body: "v=0", headers: { "content-type": "application/sdp" } },
  });
  assert.ok([409, 422].includes(again.status), again.text);

  const { stdout } = await promisify(execFile)(
    "ffmpeg",
    [
      ...["-v", "error", "-rtsp_transport", "tcp", "-i", `${rtsp}/${username}/phone?api_key=${MASTER_KEY}`],
      ...["-frames:v", "50", "-vf", `scale=${WIDTH}:${HEIGHT}`, "-f", "rawvideo", "-pix_fmt", "gray", "-"],
    ],
    { encoding: "buffer", maxBuffer: 2 ** 26, timeout: 120_000 },
  );
  const codes = Array.from({ length: stdout.length / (WIDTH * HEIGHT) }, (_, i) => {
    const data = stdout.subarray(i * WIDTH * HEIGHT, (i + 1) * WIDTH * HEIGHT);
    return readTimeCode({ data, width: WIDTH, height: HEIGHT, step: 1 });
  });
  const readable = codes.flatMap((code) => code ?? []);
  assert.equal(codes.length, 50);
  assert.ok(readable.length >= 45, `${readable.length} of 50 frames are readable`);
  for (const [i, code] of readable.entries()) if (i > 0) assert.ok(code >= (readable[i - 1] ?? 0), String(readable));
  const stats = await service.expect<StreamStats>(200, "GET", `/source/${phone.uuid}/stream`);
  assert.deepEqual([stats.protocol, stats.has_audio], ["webrtc", false]);
  t.diagnostic(
    `${stats.frames} frames, ${stats.link?.packets_lost} packets lost, jitter ${stats.jitter_ms.toFixed(1)} ms`,
  );

  await service.expect(200, "DELETE", session, { key: null, headers: { authorization: `Bearer ${MASTER_KEY}` } });
  await poll("the source is offline", async () => (await read()).status === "offline");
  assert.equal((await service.call("DELETE", session)).status, 404);
});
