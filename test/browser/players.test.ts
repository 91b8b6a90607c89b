import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import {
  countSoundBytes,
  HeadlessBrowser,
  medianAgeMs,
  type ShownFrame,
  untilState,
  watchFrames,
} from "../../tools/bench/media/browser.ts";
import { publishTimeCode, type TimeCodePublisher } from "../../tools/bench/media/time-code.ts";
import { MASTER_KEY, TestService } from "../api/service.fixture.ts";

const FRAMES = 60;

const [service, browser] = await Promise.all([TestService.start(), HeadlessBrowser.open()]);
const publishers: TimeCodePublisher[] = [];
after(async () => {
  await browser.close();
  for (const publisher of publishers) await publisher.stop();
  await service.close();
});

const { rtsp = "" } = await service.serving.event("ready");
const { username } = await service.expect<{ username: string }>(200, "GET", "/user_info");

/** A media-server source, its pages, and how it is published. */
async function register(name: string) {
  const address = `${rtsp}/${username}/${name}`;
  const { uuid } = await service.expect<SourceRecord>(201, "POST", "/stream", {
    json: { alias: name, stream_type: "rtsp", input_url: address },
  });
  const publish = (options = {}): TimeCodePublisher => {
    const publisher = publishTimeCode({ url: `${address}?api_key=${MASTER_KEY}`, width: 640, height: 360, ...options });
    publishers.push(publisher);
    return publisher;
  };
  const source = await service.expect<SourceRecord>(200, "GET", `/source/${uuid}`);
  const token = new URL(source.hls_url ?? "").searchParams.get("token") ?? "";
  const page = (kind: "hls" | "webrtc", rights = `?token=${token}`) => `${service.url}/source/${uuid}/${kind}${rights}`;
  return { uuid, publish, page };
}

/**
 * Every picture is as it was drawn, none is shown before an earlier one, and they change. On a busy machine two callbacks
 * may find the same picture: the page draws what the video shows by then.
 */
function assertMoving(frames: readonly ShownFrame[], width: number): void {
  const codes = frames.map(({ code }) => code ?? assert.fail(`unreadable pictures: ${JSON.stringify(frames)}`));
  for (const [i, code] of codes.entries())
    if (i > 0) assert.ok(code >= (codes[i - 1] ?? 0), `frame ${i} is older than the one before: ${codes}`);
  assert.ok(new Set(codes).size > frames.length / 2, `the picture stands still: ${codes}`);
  assert.ok(frames.every((frame) => frame.width === width));
}

const words = (page: Page) => page.locator("#message").innerText();
const facts = (page: Page) => page.locator("#facts").innerText();

test("a browser shows a published stream by WebRTC and by HLS, and both again when it was away", async (t) => {
  const camera = await register("camera");
  const [webrtc, hls] = await Promise.all([browser.show(camera.page("webrtc")), browser.show(camera.page("hls"))]);
  await Promise.all([webrtc, hls].map((page) => page.waitForSelector("text=Stream offline: retrying")));
  const publisher = camera.publish({ hasSound: true });
  await Promise.all([webrtc, hls].map((page) => untilState(page, "live")));

  const [byWebrtc, byHls] = [await watchFrames(webrtc, FRAMES), await watchFrames(hls, FRAMES)];
  assertMoving(byWebrtc, 640);
  assertMoving(byHls, 640);
  t.diagnostic(`WebRTC: ${medianAgeMs(byWebrtc)} ms from drawn to shown, HLS: ${medianAgeMs(byHls)} ms (medians)`);
  await webrtc.waitForSelector("text=640×360");
  assert.match(await facts(webrtc), /^640×360 · \d+ ms from the server · \d+ fps$/);
  assert.match(await facts(hls), /^640×360 · [\d.]+ m?s behind$/);
  assert.ok(await hls.locator("#sound").isVisible(), "HLS has the sound");
  assert.ok(await webrtc.locator("#sound").isHidden());
  assert.ok((await countSoundBytes(hls)) > 0);

  await publisher.stop();
  await Promise.all([webrtc, hls].map((page) => untilState(page, "wait")));
  assert.match(await words(webrtc), /^Stream offline/);
  camera.publish({ width: 320, height: 240 });
  await Promise.all([webrtc, hls].map((page) => untilState(page, "live")));
  assertMoving(await watchFrames(webrtc, 20), 320);
  assertMoving(await watchFrames(hls, 20), 320);
  await Promise.all([webrtc.close(), hls.close()]);
});

test("a stream with B-frames is explained on the WebRTC page, whose link shows it by HLS", async () => {
  const film = await register("film");
  film.publish({ bFrames: 2, keySeconds: 0.5 });
  const page = await browser.show(film.page("webrtc"));
  await untilState(page, "fault");
  assert.match(await words(page), /B-frames/);
  await page.click("text=Watch it by HLS instead");
  await untilState(page, "live");
  assertMoving(await watchFrames(page, FRAMES), 640);
  await page.close();
});

test("a page without rights shows nothing, and says so", async () => {
  const camera = await register("private");
  camera.publish();
  for (const rights of ["", "?token=wrong"]) {
    for (const kind of ["hls", "webrtc"] as const) {
      const page = await browser.show(camera.page(kind, rights));
      await untilState(page, "fault");
      assert.match(await words(page), /Not allowed\s+This address.*Ask for a new one/);
      await page.close();
    }
  }
});

test("the pages ask nobody but the service for anything, and keep their own security policy", () => {
  const foreign = browser.requested.filter((url) => !url.startsWith(service.url) && !url.startsWith("blob:"));
  assert.deepEqual(foreign, []);
  assert.deepEqual(browser.complaints, []);
});
