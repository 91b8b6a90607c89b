/** Real graphs on real GStreamer, with additional elements for tests. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, parse } from "node:path";
import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Type } from "typebox";
import { type AnyElement, defineElement, type Frame, type TransformDefinition } from "../elements/element.ts";
import { loadElements } from "../elements/index.ts";
import { type Compiled, compile, compileLaunch } from "../graphs/compiler/compile.ts";
import { loadRegistry } from "../graphs/runtime/registry.ts";
import type { RunOptions } from "../graphs/runtime/run-options.ts";
import { RunningGraph } from "../graphs/runtime/running-graph.ts";

const NONE = Type.Object({});
const unused = { example: "graph: none\nchains: {}\n", properties: NONE };

/** Delays every frame by a random time, with up to eight frames in flight. */
export const delay = defineElement({
  ...unused,
  name: "delay",
  about: "Test: delays frames by up to 3 ms.",
  kind: "transform",
  caps: "video/x-raw",
  inFlight: 8,
  create: () => ({
    process: async (frame) => {
      await sleep(Math.random() * 3);
      frame.write({ delayed: frame.index });
    },
  }),
});

/** Forwards frames at once. */
export const pass = defineElement({
  ...unused,
  name: "pass",
  about: "Test: forwards frames.",
  kind: "transform",
  caps: "video/x-raw",
  create: () => ({ process() {} }),
});

/** Calls `seen` with every frame. Only one collector per process at a time. */
export function collector(seen: (frame: Frame) => void): AnyElement {
  return defineElement({
    ...unused,
    name: "collect",
    about: "Test: hands frames to the test.",
    kind: "sink",
    caps: "ANY",
    create: () => ({ process: (frame) => seen(frame) }),
  });
}

const builtIn = await loadElements();
const registry = loadRegistry();

export const inputWith = (...extra: readonly AnyElement[]) => ({
  registry,
  elements: new Map([...builtIn, ...extra.map((element) => [element.name, element] as const)]),
});

export function compiledLaunch(line: string, ...extra: readonly AnyElement[]): Compiled {
  return must(compileLaunch(line, inputWith(...extra)));
}

export function compiledText(text: string, ...extra: readonly AnyElement[]): Compiled {
  return must(compile({ file: "test.yaml", text }, inputWith(...extra)));
}

function must(compiled: Compiled): Compiled {
  assert.deepEqual(compiled.faults, []);
  return compiled;
}

export function start(compiled: Compiled, extra: readonly AnyElement[], options: Partial<RunOptions> = {}) {
  return RunningGraph.start(compiled, { ...inputWith(...extra), ...options });
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "windhover-soak-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Long clips whose length is a multiple of this are encoded once, and repeated. */
const ENCODED_FRAMES = 250;

/** Creates an H.264 clip with a graph. */
export async function makeClip(folder: string, frames: number, size = "width=320&height=180"): Promise<string> {
  const times = frames % ENCODED_FRAMES === 0 ? frames / ENCODED_FRAMES : 1;
  const path = join(folder, `clip-${frames / times}-${size.replace(/\W/g, "-")}.mp4`);
  const line = `source uri="test:ball?${size}&fps=25&frames=${frames / times}" ! decode ! encode ! record path="${path}"`;
  const graph = await start(compiledLaunch(line), []);
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
  return times === 1 ? path : repeatClip(path, times);
}

const besideIt = (clip: string, times: number): string => {
  const { dir, name, ext } = parse(clip);
  return join(dir, `${name}-${times}-times${ext}`);
};

/** The clip several times in a row, without encoding it again, as another file. */
export async function repeatClip(clip: string, times: number, long = besideIt(clip, times)): Promise<string> {
  const args = ["-v", "error", "-y", "-stream_loop", String(times - 1), "-i", clip, "-c", "copy", long];
  await promisify(execFile)("ffmpeg", args);
  return long;
}

/**
 * What a transform registers with GStreamer: an element of a test that has the name of a real one must have the same, because
 * both may be registered in one process.
 */
export function typeOf(element: AnyElement): Pick<TransformDefinition, "caps" | "access" | "inFlight"> {
  if (element.kind !== "transform") throw new Error(`"${element.name}" is not a transform`);
  const { caps, access = "read", inFlight = 1 } = element;
  return { caps, access, inFlight };
}
