/**
 * Video outputs with the sound of their source: in the source, a flash and a beep begin together every second, and they
 * must begin together in what a player receives, at the beginning and at the end. In full, 30 s of all kinds.
 */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import type { ElementEvent } from "../../elements/element.ts";
import { ForkedHub } from "../../hub/hub.fixture.ts";
import { compiledLaunch, start, temporaryFolder } from "../graph.fixture.ts";
import { findFreePort } from "../ports.fixture.ts";
import { Watch } from "../watch.fixture.ts";
import { rounds } from "./rounds.fixture.ts";

const run = promisify(execFile);
const folder = temporaryFolder();
const FPS = 25;
/** Frames of the output that a flash and its beep may be apart. */
const MAX_FRAMES = 1.5;
const SECONDS = rounds(6, 30);
const NO_HANG = { timeout: 600_000 };

interface Encoding {
  readonly sampleRate: number;
  readonly bFrames: number;
}

/** Arguments of ffmpeg for a source in real time. A sample rate of 0: without sound. */
function listSource({ sampleRate, bFrames }: Encoding): readonly string[] {
  const flash = `color=black:size=160x120:rate=${FPS},drawbox=color=white:t=fill:enable='lt(mod(t,1),0.2)'`;
  const beep = `aevalsrc='if(lt(mod(t,1),0.2),0.5*sin(2*PI*880*t),0)':s=${sampleRate}`;
  return [
    ...["-v", "error", "-y", "-re", "-f", "lavfi", "-i", flash],
    ...(sampleRate === 0 ? [] : ["-re", "-f", "lavfi", "-i", beep, "-c:a", "aac", "-b:a", "64k"]),
    ...["-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-g", String(FPS), "-bf", String(bFrames)],
  ];
}

type Ending = { after(clean: () => unknown): void };

function launch(t: Ending, ...words: readonly string[]) {
  const child = spawn("ffmpeg", words, { stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr.on("data", (text) => {
    errors += text;
  });
  t.after(() => child.kill("SIGKILL"));
  return { child, errors: () => errors };
}

/** The address of a source: published to the hub over RTMP, or a file. */
const SOURCES = {
  async published(t: Ending, hub: ForkedHub, encoding: Encoding): Promise<string> {
    launch(t, ...listSource(encoding), "-f", "flv", await hub.rtmp("anna/camera?api_key=sesame"));
    await hub.next("published", ({ stream }) => stream.path === "anna/camera");
    return (await hub.rtsp("anna/camera")).replace("//", "//run:sesame@");
  },
  async file(_: Ending, __: ForkedHub, encoding: Encoding): Promise<string> {
    const path = join(folder, `clip-${encoding.sampleRate}-${encoding.bFrames}.mp4`);
    const words = listSource(encoding).filter((word) => word !== "-re");
    await run("ffmpeg", [...words, "-t", String(SECONDS + 120), path]);
    return path;
  },
};

/** The end of the graph, and the arguments of ffmpeg to play what it sends. */
const OUTPUTS = {
  async rtsp(hub: ForkedHub) {
    const url = (await hub.rtsp("anna/out")).replace("//", "//run:sesame@");
    return { sink: `publish url="${url}" audio=true`, play: ["-rtsp_transport", "tcp", "-i", url], isServed: true };
  },
  async rtmp(hub: ForkedHub) {
    const { play } = await OUTPUTS.rtsp(hub);
    return { sink: `publish url="${await hub.rtmp("anna/out?api_key=sesame")}" audio=true`, play, isServed: true };
  },
  async srt(hub: ForkedHub) {
    const { play } = await OUTPUTS.rtsp(hub);
    const url = `srt://127.0.0.1:${(await hub.ports()).srtPort}?streamid=%23!::r=anna/out,m=publish,u=sesame&latency=120`;
    return { sink: `publish url="${url}" audio=true`, play, isServed: true };
  },
  async mpegts() {
    const url = `udp://127.0.0.1:${await findFreePort()}`;
    return { sink: `mpegts url="${url}" audio=true`, play: ["-i", `${url}?timeout=300000000`], isServed: false };
  },
};

interface Played {
  readonly codecs: readonly string[];
  /** How far each beep begins after its flash, in frames. */
  readonly apart: readonly number[];
  readonly detail: string | null;
}

async function play(
  t: Ending,
  source: keyof typeof SOURCES,
  output: keyof typeof OUTPUTS,
  encoding: Encoding,
): Promise<Played> {
  const hub = await ForkedHub.open();
  t.after(() => hub.remove());
  const uri = await SOURCES[source](t, hub, encoding);
  const { sink, play, isServed } = await OUTPUTS[output](hub);
  const reports: ElementEvent[] = [];
  const watch = new Watch();
  const pace = source === "file" ? " pace=realtime" : "";
  const line = `source uri="${uri}"${pace} ! decode ! encode keyframe-seconds=1 ! ${sink}`;
  const listen = [...["-hide_banner", "-nostdin", ...play, "-t", String(SECONDS)], ...DETECT, "-f", "null", "-"];
  const early = isServed ? null : launch(t, ...listen);
  const graph = await start(compiledLaunch(line), [], {
    onEvent(event) {
      if (event.type === "element" && event.event.type === "output") reports.push(event.event);
      watch.check();
    },
  });
  if (isServed) await hub.next("published", ({ stream }) => stream.path === "anna/out");
  const { child, errors } = early ?? launch(t, ...listen);
  const [code] = await once(child, "exit");
  assert.equal(code, 0, errors());
  await graph.stop();
  const codecs = [...errors().matchAll(/Stream #0:\d+.*?: (?:Video|Audio): (\w+)/g)].map(([, name = ""]) => name);
  return {
    codecs: [...new Set(codecs.filter((name) => name === "h264" || name === "aac"))].sort(),
    apart: measure(errors()),
    detail: (reports.findLast(({ status }) => status === "live")?.detail ?? null) as string | null,
  };
}

const DETECT = ["-vf", "blackdetect=d=0.3:pix_th=0.3", "-af", "silencedetect=n=-30dB:d=0.3"];

/** Without the first second, in which a player catches up, and the cut end. */
function measure(printed: string): readonly number[] {
  const find = (pattern: RegExp) => [...printed.matchAll(pattern)].map(([, seconds]) => Number(seconds));
  const [flashes, beeps] = [find(/black_end:([\d.]+)/g), find(/silence_end: ([\d.]+)/g)];
  return flashes.slice(1, -1).map((at) => {
    const [nearest = Number.NaN] = beeps.map((beep) => (beep - at) * FPS).sort((a, b) => Math.abs(a) - Math.abs(b));
    return nearest;
  });
}

const ALL: readonly (readonly [keyof typeof SOURCES, keyof typeof OUTPUTS, Encoding])[] = [
  ["published", "rtsp", { sampleRate: 44_100, bFrames: 2 }],
  ["file", "rtmp", { sampleRate: 48_000, bFrames: 2 }],
  ["published", "rtsp", { sampleRate: 48_000, bFrames: 0 }],
  ["published", "srt", { sampleRate: 48_000, bFrames: 2 }],
  ["published", "rtmp", { sampleRate: 44_100, bFrames: 0 }],
  ["published", "mpegts", { sampleRate: 48_000, bFrames: 0 }],
  ["file", "rtsp", { sampleRate: 44_100, bFrames: 0 }],
  ["file", "srt", { sampleRate: 44_100, bFrames: 2 }],
];

for (const [source, output, encoding] of ALL.slice(0, rounds(2, ALL.length))) {
  const what = `${source} at ${encoding.sampleRate} Hz with ${encoding.bFrames} B-frames, sent by ${output}`;
  test(`flash and beep begin together: ${what}`, NO_HANG, async (t) => {
    const { codecs, apart, detail } = await play(t, source, output, encoding);
    const shown = apart.map((frames) => frames.toFixed(2)).join(" ");
    process.stderr.write(`${what}: beeps after flashes, in frames: ${shown}\n`);
    assert.deepEqual([codecs, detail], [["aac", "h264"], null]);
    assert.ok(apart.length >= SECONDS - 4, `${apart.length} flashes in ${SECONDS} s`);
    for (const frames of apart) assert.ok(Math.abs(frames) <= MAX_FRAMES, shown);
  });
}

test("a source without sound gives an output without it, and the output says so", NO_HANG, async (t) => {
  const { codecs, detail } = await play(t, "published", "rtsp", { sampleRate: 0, bFrames: 0 });
  assert.deepEqual([codecs, detail], [["h264"], "without sound: the source has no sound"]);
});
