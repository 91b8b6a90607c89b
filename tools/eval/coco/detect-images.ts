/** What the element `detect` finds in picture files, each run through a graph of its own and one model for all. */
import { readFileSync } from "node:fs";
import { Type } from "typebox";
import { CommandFailure } from "../../../cli/command.ts";
import type { Knowledge } from "../../../cli/compile-graph.ts";
import { onInterrupt } from "../../../cli/run/interrupt.ts";
import { type AnyElement, defineElement, type Handler } from "../../../elements/element.ts";
import { compile } from "../../../graphs/compiler/compile.ts";
import { GraphFaults } from "../../../graphs/compiler/fault.ts";
import { type GraphEvent, GraphFailure } from "../../../graphs/runtime/events.ts";
import { RunningGraph } from "../../../graphs/runtime/running-graph.ts";
import type { Detection, Detections } from "../../../schemas/detections.ts";
import type { Picture } from "./dataset.ts";

export interface LookOrder {
  readonly pictures: readonly Picture[];
  /** A name, or the path of a card. */
  readonly model: string;
  /** Everything at or above it is wanted. */
  readonly confidence: number;
  onPicture(count: number, file: string): void;
}

const GRAPH = `
graph: eval-coco
about: One picture, looked at.
params:
  model: { type: string }
  confidence: { type: number }
chains:
  main:
    - source
    - decode
    - detect: { model: $model, confidence: $confidence, weak: $confidence }
    - take-down
`;

/** Detections of each picture. Throws `CommandFailure` for a picture that cannot be shown as a whole, naming it. */
export async function lookAt(
  { pictures, model, confidence, onPicture }: LookOrder,
  { elements, registry }: Knowledge,
): Promise<Detection[][]> {
  const detect = elements.get("detect");
  if (detect === undefined || detect.kind !== "transform") throw new Error("there is no element detect");
  const shared = new SharedHandler(detect);
  const taken: Taken = { detections: null, width: 0, height: 0 };
  const known = new Map([...elements, ["detect", shared.element], ["take-down", takeDown(taken)]]);
  // Before the first is looked at, which with many pictures is the beginning of a long time.
  for (const { file } of pictures) expectWhole(file);
  const cut = new AbortController();
  const deafen = onInterrupt(
    () => cut.abort(),
    () => cut.abort(),
  );
  const found: Detection[][] = [];
  try {
    for (const picture of pictures) {
      onPicture(found.length, picture.file);
      taken.detections = null;
      await play(picture, { elements: known, registry }, { model, confidence }, cut.signal);
      if (cut.signal.aborted) throw new CommandFailure("interrupted: nothing was scored");
      found.push(readTaken(taken, picture));
    }
  } finally {
    deafen();
    await shared.close();
  }
  return found;
}

/** The steps whose warnings are of the picture. */
const SHOWING: readonly string[] = ["source", "decode"];

async function play(
  { file }: Picture,
  knowledge: Knowledge,
  params: { readonly model: string; readonly confidence: number },
  signal: AbortSignal,
): Promise<void> {
  const compiled = compile({ file: null, text: GRAPH }, { ...knowledge, source: { uri: file, pace: "fast" }, params });
  if (compiled.plan === null) throw new GraphFaults(compiled.faults);
  let failure: GraphFailure | null;
  let warning: string | null = null;
  const onEvent = (event: GraphEvent): void => {
    if (event.type === "log" && event.level === "warn" && SHOWING.includes(event.node)) warning ??= event.message;
  };
  try {
    const graph = await RunningGraph.start(compiled, { ...knowledge, signal, onEvent });
    failure = (await graph.ended).error;
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof GraphFailure)) throw error;
    failure = error;
  }
  if (failure !== null) {
    // What detect has to say is of the model, not of this picture.
    const where = failure.node === "detect" ? "" : `${file}: `;
    throw new CommandFailure(`${where}${failure.message}`, { cause: failure });
  }
  if (warning !== null) throw new CommandFailure(`${file} is damaged: ${warning}`);
}

function expectWhole(file: string): void {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
  } catch (cause) {
    throw new CommandFailure(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
  const fault = findJpegFault(bytes);
  if (fault !== null) throw new CommandFailure(`${file} ${fault}`);
}

interface Taken {
  detections: Detections | null;
  width: number;
  height: number;
}

function readTaken({ detections, width, height }: Taken, picture: Picture): Detection[] {
  if (detections === null) throw new CommandFailure(`${picture.file} has no picture in it`);
  if (width === picture.width && height === picture.height) return detections.objects;
  throw new CommandFailure(
    `${picture.file} is ${width}×${height}, but instances.json says ${picture.width}×${picture.height}; its boxes would not fit`,
  );
}

const takeDown = (taken: Taken): AnyElement =>
  defineElement({
    kind: "sink",
    name: "take-down",
    about: "Takes down what was found, for an evaluation.",
    example: "",
    caps: "video/x-raw",
    properties: Type.Object({}),
    reads: ["detections"],
    create: () => ({
      process({ meta, format }) {
        taken.detections = meta.detections as Detections;
        taken.width = format.width;
        taken.height = format.height;
      },
    }),
  });

/** One handler for graphs that come one after the other: a model is loaded once. */
class SharedHandler {
  readonly element: AnyElement;
  #handler: Promise<Handler> | undefined;

  constructor(detect: Extract<AnyElement, { kind: "transform" }>) {
    this.element = {
      ...detect,
      create: async (properties, services) => {
        this.#handler ??= (async () => detect.create(properties, services))();
        const handler = await this.#handler;
        return { process: (frame) => handler.process(frame), flush: () => handler.flush?.() };
      },
    };
  }

  async close(): Promise<void> {
    const handler = await this.#handler?.catch(() => undefined);
    await handler?.close?.();
  }
}

// Whether a JPEG is all there. Its decoder does not tell: what was cut off is shown grey, as if it had been so. Walks from marker to marker, as ITU-T T.81 (annex B) lays them out.
const START = 0xd8;
const END = 0xd9;
const SCAN = 0xda;

/** What is wrong with it, in words that follow the name of the file; null for a whole one, and for what is no JPEG. */
export function findJpegFault(bytes: Uint8Array): string | null {
  if (bytes[0] !== 0xff || bytes[1] !== START) return null;
  let at = 2;
  let hasScan = false;
  while (at < bytes.length) {
    if (bytes[at] !== 0xff) return `is damaged: expected a marker at byte ${at}`;
    const marker = bytes[at + 1];
    if (marker === undefined) break;
    // Any number of these may fill the place before a marker.
    if (marker === 0xff) at += 1;
    else if (marker === END) return hasScan ? null : "has no picture in it";
    else if (!mayStandHere(marker)) return `is damaged: marker 0x${marker.toString(16)} at byte ${at}`;
    else {
      const [high, low] = [bytes[at + 2], bytes[at + 3]];
      if (high === undefined || low === undefined) break;
      at += 2 + high * 256 + low;
      if (marker !== SCAN) continue;
      hasScan = true;
      at = skipScan(bytes, at);
    }
  }
  return `is cut off: it ends at byte ${bytes.length}, in the middle of the picture`;
}

/** Frames, tables, scans, what applications add, and comments: all have a length after them. */
const mayStandHere = (marker: number): boolean =>
  (marker >= 0xc0 && marker <= 0xcf) || (marker >= SCAN && marker <= 0xfe);

/** Where the next marker is; within a scan, 0xff stands for itself before 0, and restarts belong to it. */
function skipScan(bytes: Uint8Array, from: number): number {
  let at = bytes.indexOf(0xff, from);
  while (at !== -1 && at + 1 < bytes.length) {
    const next = bytes[at + 1] as number;
    if (next !== 0 && !(next >= 0xd0 && next <= 0xd7)) return at;
    at = bytes.indexOf(0xff, at + 2);
  }
  return bytes.length;
}
