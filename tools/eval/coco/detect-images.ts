/** Runs the element `detect` on image files: a graph per image, with one model for all. */
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

export interface DetectOptions {
  readonly pictures: readonly Picture[];
  /** A name, or the path of a card. */
  readonly model: string;
  /** Minimum confidence. */
  readonly confidence: number;
  onPicture(count: number, file: string): void;
}

const GRAPH = `
graph: eval-coco
about: Detects the objects of one image.
params:
  model: { type: string }
  confidence: { type: number }
chains:
  main:
    - source
    - decode
    - detect: { model: $model, confidence: $confidence, weak: $confidence }
    - record-detections
`;

/** Detections of each image. Throws `CommandFailure`, with the name, for an incomplete image. */
export async function detectImages(
  { pictures, model, confidence, onPicture }: DetectOptions,
  { elements, registry }: Knowledge,
): Promise<Detection[][]> {
  const detect = elements.get("detect");
  if (detect === undefined || detect.kind !== "transform") throw new Error("there is no element detect");
  const shared = new SharedHandler(detect);
  const taken: Taken = { detections: null, width: 0, height: 0 };
  const known = new Map([...elements, ["detect", shared.element], ["record-detections", recordDetections(taken)]]);
  // Before the first inference, because many images take a long time.
  for (const { file } of pictures) expectWhole(file);
  const cut = new AbortController();
  const removeSignals = onInterrupt(
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
    removeSignals();
    await shared.close();
  }
  return found;
}

/** Steps whose warnings concern the image. */
const IMAGE_STEPS: readonly string[] = ["source", "decode"];

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
    if (event.type === "log" && event.level === "warn" && IMAGE_STEPS.includes(event.node)) warning ??= event.message;
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
    // Failures of detect concern the model, not this image.
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
  if (detections === null) throw new CommandFailure(`${picture.file} contains no image`);
  if (width === picture.width && height === picture.height) return detections.objects;
  throw new CommandFailure(
    `${picture.file} is ${width}×${height}, but instances.json has ${picture.width}×${picture.height}; expected the same size`,
  );
}

const recordDetections = (taken: Taken): AnyElement =>
  defineElement({
    kind: "sink",
    name: "record-detections",
    about: "Records detections for an evaluation.",
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

/** One handler for consecutive graphs, so that the model is loaded once. */
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

const START = 0xd8;
const END = 0xd9;
const SCAN = 0xda;

/**
 * What is wrong with a JPEG file, as a phrase after its name; null for a complete one, and for other formats. Decoders show
 * a missing part as grey. Follows the markers of ITU-T T.81, annex B.
 */
export function findJpegFault(bytes: Uint8Array): string | null {
  if (bytes[0] !== 0xff || bytes[1] !== START) return null;
  let at = 2;
  let hasScan = false;
  while (at < bytes.length) {
    if (bytes[at] !== 0xff) return `is damaged: expected a marker at byte ${at}`;
    const marker = bytes[at + 1];
    if (marker === undefined) break;
    // Fill bytes before a marker.
    if (marker === 0xff) at += 1;
    else if (marker === END) return hasScan ? null : "contains no image";
    else if (!hasLength(marker)) return `is damaged: marker 0x${marker.toString(16)} at byte ${at}`;
    else {
      const [high, low] = [bytes[at + 2], bytes[at + 3]];
      if (high === undefined || low === undefined) break;
      at += 2 + high * 256 + low;
      if (marker !== SCAN) continue;
      hasScan = true;
      at = skipScan(bytes, at);
    }
  }
  return `is incomplete: it ends at byte ${bytes.length}, in the middle of the image`;
}

/** Frames, tables, scans, application data and comments, which have a length. */
const hasLength = (marker: number): boolean => (marker >= 0xc0 && marker <= 0xcf) || (marker >= SCAN && marker <= 0xfe);

/** The next marker after a scan, which may contain stuffed 0xff bytes and restart markers. */
function skipScan(bytes: Uint8Array, from: number): number {
  let at = bytes.indexOf(0xff, from);
  while (at !== -1 && at + 1 < bytes.length) {
    const next = bytes[at + 1] as number;
    if (next !== 0 && !(next >= 0xd0 && next <= 0xd7)) return at;
    at = bytes.indexOf(0xff, at + 2);
  }
  return bytes.length;
}
