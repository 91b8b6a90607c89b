/** Sources in which a flash and a beep begin together every second, and what a player of an output of them receives. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { ForkedHub } from "../../hub/hub.fixture.ts";
import { compiledLaunch, start, temporaryFolder } from "../../test/graph.fixture.ts";
import { findFreePort } from "../../test/ports.fixture.ts";
import { Watch } from "../../test/watch.fixture.ts";
import type { ElementEvent } from "../element.ts";

const run = promisify(execFile);
const FPS = 25;

export interface Encoding {
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

export type SourceKind = keyof typeof SOURCES;
export type OutputKind = keyof typeof OUTPUTS;

/** The address of a source: published to the hub over RTMP, or a file. */
const SOURCES = {
  async published(t: Ending, hub: ForkedHub, encoding: Encoding): Promise<string> {
    launch(t, ...listSource(encoding), "-f", "flv", await hub.rtmp("anna/camera?api_key=sesame"));
    await hub.next("published", ({ stream }) => stream.path === "anna/camera");
    return (await hub.rtsp("anna/camera")).replace("//", "//run:sesame@");
  },
  async file(_: Ending, __: ForkedHub, encoding: Encoding, seconds: number): Promise<string> {
    const path = join(temporaryFolder(), `clip-${encoding.sampleRate}-${encoding.bFrames}.mp4`);
    const words = listSource(encoding).filter((word) => word !== "-re");
    await run("ffmpeg", [...words, "-t", String(seconds + 120), path]);
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

export interface Played {
  readonly codecs: readonly string[];
  /** How far each beep begins after its flash, in frames. */
  readonly apart: readonly number[];
  readonly detail: string | null;
}

/** Plays this many seconds of an output of a graph, or until `enough` flashes were measured. */
export async function play(
  t: Ending,
  source: SourceKind,
  output: OutputKind,
  encoding: Encoding,
  seconds: number,
  enough = Number.POSITIVE_INFINITY,
): Promise<Played> {
  const hub = await ForkedHub.open();
  t.after(() => hub.remove());
  const uri = await SOURCES[source](t, hub, encoding, seconds);
  const { sink, play, isServed } = await OUTPUTS[output](hub);
  const reports: ElementEvent[] = [];
  const watch = new Watch();
  const pace = source === "file" ? " pace=realtime" : "";
  const line = `source uri="${uri}"${pace} ! decode ! encode keyframe-seconds=1 ! ${sink}`;
  const listen = [...["-hide_banner", "-nostdin", ...play, "-t", String(seconds)], ...DETECT, "-f", "null", "-"];
  const early = isServed ? null : launch(t, ...listen);
  const graph = await start(compiledLaunch(line), [], {
    onEvent(event) {
      if (event.type === "element" && event.event.type === "output") reports.push(event.event);
      watch.check();
    },
  });
  if (isServed) await hub.next("published", ({ stream }) => stream.path === "anna/out");
  const { child, errors } = early ?? launch(t, ...listen);
  let hasEnough = false;
  child.stderr.on("data", () => {
    const apart = measure(errors());
    // The beep of the last flash may not have arrived yet.
    if (hasEnough || apart.length < enough || !(Math.abs(apart.at(-1) ?? Number.NaN) < FPS / 2)) return;
    hasEnough = true;
    child.kill("SIGINT");
  });
  const [code] = await once(child, "exit");
  assert.ok(hasEnough || code === 0, errors());
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

/** Frames of the output that a flash and its beep may be apart. */
export const MAX_FRAMES = 1.5;
