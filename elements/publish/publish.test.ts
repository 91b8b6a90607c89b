/** Real graphs that publish to real servers, which reject, are killed, freeze and restart. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import type { GraphEvent } from "../../graphs/runtime/events.ts";
import type { RunningGraph } from "../../graphs/runtime/running-graph.ts";
import { ForkedHub, type HubOptions, LET_IN } from "../../hub/hub.fixture.ts";
import { collector, compiledLaunch, start } from "../../test/graph.fixture.ts";
import { nginxIsMissing, openNginx } from "../../test/nginx-rtmp.fixture.ts";
import { Watch } from "../../test/watch.fixture.ts";
import type { ElementEvent, Frame, Services } from "../element.ts";
import { publishHandler } from "./handler.ts";

interface Report extends ElementEvent {
  readonly status: string;
  readonly detail: string | null;
  readonly framesSent: number;
  readonly framesDropped: number;
}

class Published {
  readonly events: GraphEvent[] = [];
  readonly watch = new Watch();
  #graph: RunningGraph | null = null;

  static async start(
    url: string,
    source = "test:ball?width=64&height=48&fps=25",
    keyframeSeconds = 0.4,
  ): Promise<Published> {
    const published = new Published();
    const encode = `encode keyframe-seconds=${keyframeSeconds}`;
    const line = `source uri="${source}" pace=realtime ! decode ! ${encode} ! publish url="${url}"`;
    const ending = new AbortController();
    after(() => ending.abort());
    published.#graph = await start(compiledLaunch(line), [], {
      signal: ending.signal,
      onEvent(event) {
        published.events.push(event);
        published.watch.check();
      },
    });
    return published;
  }

  get graph(): RunningGraph {
    return this.#graph ?? assert.fail();
  }

  get reports(): readonly Report[] {
    return this.events.flatMap((event) =>
      event.type === "element" && event.event.type === "output" ? [event.event as Report] : [],
    );
  }

  /** Statuses in order of change. */
  get statuses(): readonly string[] {
    const all = this.reports.map(({ status }) => status);
    return all.filter((status, index) => status !== all[index - 1]);
  }

  get log(): string {
    return this.events.map((event) => (event.type === "log" ? event.message : "")).join("\n");
  }

  async until(status: string, after = 0): Promise<Report> {
    const find = () => this.reports.slice(after).find((report) => report.status === status);
    await this.watch.until(status, () => find() !== undefined);
    return find() ?? assert.fail();
  }

  async stop(): Promise<void> {
    assert.deepEqual(await this.graph.stop(), { state: "finished", error: null });
    assert.doesNotMatch(this.log, /did not close/);
  }
}

async function openHub(t: { after(clean: () => Promise<void>): void }, options?: HubOptions): Promise<ForkedHub> {
  const hub = await ForkedHub.open(options);
  t.after(() => hub.remove());
  return hub;
}

/** The hub requires a password, but accepts any. */
const urlOf = async (hub: ForkedHub): Promise<string> => (await hub.rtsp("anna/yard")).replace("//", "//run:sesame@");

test("the hub receives every frame of a clip, and its path is free afterwards", async (t) => {
  const hub = await openHub(t);
  // One keyframe: all frames after it are buffered while a busy machine connects.
  const published = await Published.start(await urlOf(hub), "test:ball?width=64&height=48&fps=25&frames=50", 10);
  const { stream } = await hub.next("published");
  assert.deepEqual([stream.path, stream.width, stream.height], ["anna/yard", 64, 48]);
  assert.deepEqual(await published.graph.ended, { state: "finished", error: null });
  await hub.next("unpublished");
  assert.deepEqual(
    hub
      .all("authorize")
      .map(({ secret, action }) => [secret, action])
      .at(-1),
    ["sesame", "publish"],
  );
  const { framesSent, framesDropped } = published.reports.at(-1) ?? assert.fail();
  assert.deepEqual([framesSent, framesDropped], [50, 0]);
  assert.deepEqual(published.statuses, ["starting", "live"]);
  assert.ok(!JSON.stringify(published.events).includes("sesame"));
});

test("the hub receives every frame by SRT, and a rejection is reported without the key", async (t) => {
  let refuses = true;
  const no = { refusal: { kind: "unauthorized", detail: "not with sesame" } as const, recording: null };
  const hub = await openHub(t, { decide: () => (refuses ? no : LET_IN) });
  const { srtPort } = await hub.ports();
  const url = `srt://127.0.0.1:${srtPort}?streamid=%23!::r=anna/yard,m=publish,u=sesame&latency=120`;
  const rejected = await Published.start(url);
  // On a busy machine, the hub answers after a handshake has ended, closes that connection, and rejects the next in time.
  const isReason = (detail: string | null | undefined) => /rejects the key/.test(detail ?? "");
  await rejected.watch.until("the reason", () => rejected.reports.some(({ detail }) => isReason(detail)));
  await rejected.stop();
  assert.deepEqual(hub.all("published"), []);
  refuses = false;
  const published = await Published.start(
    url.replace("sesame", "open-sesame"),
    "test:ball?width=64&height=48&fps=25&frames=50",
    10,
  );
  const { stream } = await hub.next("published");
  assert.deepEqual([stream.path, stream.protocol, stream.width], ["anna/yard", "srt", 64]);
  assert.deepEqual(await published.graph.ended, { state: "finished", error: null });
  await hub.next("unpublished");
  const { framesSent, framesDropped } = published.reports.at(-1) ?? assert.fail();
  assert.deepEqual([framesSent, framesDropped], [50, 0]);
  assert.ok(!JSON.stringify([published.events, rejected.events]).includes("sesame"));
});

test("retries a hub that rejects it, and reports the reason without the password", async (t) => {
  let refuses = true;
  const no = { refusal: { kind: "unauthorized", detail: "not with sesame" } as const, recording: null };
  const hub = await openHub(t, { decide: () => (refuses ? no : LET_IN) });
  const published = await Published.start(await urlOf(hub));
  const { detail } = await published.until("retrying");
  assert.match(detail ?? "", /^the server rejected ANNOUNCE: 401/);
  refuses = false;
  await published.until("live");
  await published.stop();
  assert.doesNotMatch(JSON.stringify(published.events), /run:sesame/);
});

test("reconnects to a hub that was killed and restarted on its port", async (t) => {
  const first = await openHub(t);
  const published = await Published.start(await urlOf(first));
  await published.until("live");
  const { rtspPort: port } = await first.ports();
  first.child.kill("SIGKILL");
  await published.until("retrying");
  const seen = published.reports.length;
  const second = await openHub(t, { settings: { rtsp: { host: "127.0.0.1", port } } });
  await second.next("published");
  await published.until("live", seen);
  await published.stop();
  assert.deepEqual(published.statuses, ["starting", "live", "retrying", "live"]);
  assert.equal(published.graph.state, "finished");
});

test("a frozen hub blocks neither the graph nor its end", async (t) => {
  const hub = await openHub(t);
  const published = await Published.start(await urlOf(hub));
  const { framesSent } = await published.until("live");
  hub.child.kill("SIGSTOP");
  await published.watch.until("frames", () => (published.reports.at(-1)?.framesSent ?? 0) > framesSent + 25);
  await published.stop();
  hub.child.kill("SIGCONT");
  await hub.next("unpublished");
});

test("republishes the unchanged stream to an nginx that was killed and restarted", {
  skip: nginxIsMissing,
}, async () => {
  const nginx = await openNginx();
  const published = await Published.start(`rtmp://127.0.0.1:${nginx.port}/live/yard?token=sesame`);
  await published.until("live");
  await nginx.kill();
  const { detail } = await published.until("retrying");
  assert.ok((detail ?? "").length > 0);
  const seen = published.reports.length;
  await nginx.start();
  await published.until("live", seen);
  const { framesSent } = published.reports.at(-1) ?? assert.fail();
  await published.watch.until("frames", () => (published.reports.at(-1)?.framesSent ?? 0) > framesSent + 25);
  await published.stop();
  assert.doesNotMatch(JSON.stringify(published.events), /sesame/);
  const files = readdirSync(nginx.recordings).map((name) => join(nginx.recordings, name));
  const count = (file: string) =>
    Number(
      execFileSync("ffprobe", [
        ...["-v", "error", "-count_frames", "-select_streams", "v:0"],
        ...["-show_entries", "stream=nb_read_frames", "-of", "csv=p=0", file],
      ]),
    );
  assert.ok(Math.max(...files.map(count)) > 25);
});

test("republishes at the new size when the frame size changes", async (t) => {
  const hub = await openHub(t);
  const url = await urlOf(hub);
  const events: ElementEvent[] = [];
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const emit = (event: ElementEvent): void => void events.push(event);
  const services = { node: "publish", log, emit } as unknown as Services;
  const handler = publishHandler({ url, address: null }, services);
  for (const [width, height] of [
    [64, 48],
    [98, 54],
  ] as const) {
    const seen = hub.all("published").length;
    for (const frame of await encode(width, height)) handler.process(frame);
    const { stream } = await hub.next("published", ({ stream }) => stream.width === width);
    assert.deepEqual([stream.height, hub.all("published").length], [height, seen + 1]);
  }
  await handler.close();
  assert.deepEqual([events.at(-1)?.framesSent, events.at(-1)?.framesDropped], [10, 0]);
});

async function encode(width: number, height: number): Promise<readonly Frame[]> {
  const frames: Frame[] = [];
  const element = collector((frame) => {
    const { ptsNs, captureNs, format } = frame;
    const bytes = frame.copy();
    frames.push({ ptsNs, captureNs, format, copy: () => bytes } as Frame);
  });
  const source = `source uri="test:ball?width=${width}&height=${height}&frames=5"`;
  const graph = await start(compiledLaunch(`${source} ! decode ! encode ! collect`, element), [element]);
  await graph.ended;
  return frames;
}

test("rejects an invalid address at start, without quoting it", async () => {
  for (const url of ["rtmp://host:99999/live/sesame", "rtsp://host:0x/sesame"])
    await assert.rejects(Published.start(url), (error: Error) => {
      assert.match(error.message, /expected/);
      assert.doesNotMatch(error.message, /sesame/);
      return true;
    });
});
