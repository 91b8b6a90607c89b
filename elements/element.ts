/**
 * The contract of an element. A definition is light: it names and describes the element and is all that the compiler,
 * `windhover inspect` and the API need. What is heavy is imported inside `create`.
 */
import type { Static, TObject } from "typebox";
import type { Json, JsonRecord } from "../schemas/json.ts";
import type { Registry } from "../schemas/registry.ts";

/** A key of the frame metadata that must be there, may be there, or of which one of several must be there. */
export type Read = string | { readonly optional: string } | { readonly oneOf: readonly string[] };

interface Described<P extends TObject> {
  readonly name: string;
  /** One sentence, shown by `inspect`. */
  readonly about: string;
  /** A graph in YAML that uses the element; a test compiles it. */
  readonly example: string;
  /** camelCase keys; in graphs they are kebab-case. `live: true` on a property lets it change while the graph runs. */
  readonly properties: P;
  readonly reads?: readonly Read[];
  readonly writes?: readonly string[];
  /** Imports what `create` and `drive` are going to: whoever has time before a graph starts calls it. */
  preload?(): Promise<unknown>;
}

/** Runs TypeScript on every frame and passes it on. */
export interface TransformDefinition<P extends TObject = TObject> extends Described<P> {
  readonly kind: "transform";
  /** GStreamer caps taken and, as this element does not change the format, given. */
  readonly caps: string;
  /** `write` gets a frame whose planes may be changed. */
  readonly access?: "read" | "write";
  /** Frames taken before the first of them has settled, up to 256 MiB of them; they leave in order. Default 1. */
  readonly inFlight?: number;
  create(properties: Static<P>, services: Services): Promise<Handler<P>> | Handler<P>;
}

/** Runs TypeScript on every frame and ends the chain. */
export interface SinkDefinition<P extends TObject = TObject> extends Described<P> {
  readonly kind: "sink";
  readonly caps: string;
  create(properties: Static<P>, services: Services): Promise<Handler<P>> | Handler<P>;
}

/** Stands for a run of GStreamer elements, chosen by its properties, the source and what the registry has. */
export interface CompositeDefinition<P extends TObject = TObject> extends Described<P> {
  readonly kind: "composite";
  /** Pure. Throws `ExpandFault` for what a schema cannot say. */
  expand(properties: Static<P>, context: ExpandContext): Expansion;
  /**
   * Called before the nodes are made: the moment to look at what they will touch, such as a file. A throw keeps the graph
   * or branch from starting. What it gives is closed after the nodes are gone.
   */
  open?(properties: Static<P>, services: OpenServices): Promise<Driver> | Driver;
  /** For composites that have work to do while the graph runs, such as `source` with its reconnects. */
  drive?(properties: Static<P>, services: DriverServices): Promise<Driver> | Driver;
}

export type ElementDefinition<P extends TObject = TObject> =
  | TransformDefinition<P>
  | SinkDefinition<P>
  | CompositeDefinition<P>;

/** A definition whose property types have been forgotten: what registries of elements hold. */
// biome-ignore lint/suspicious/noExplicitAny: properties are checked against the schema before `create` sees them.
export type AnyElement = ElementDefinition<any>;

/** An element that could not be loaded. */
export interface BrokenElement {
  readonly name: string;
  /** `elements/x/x.ts:12:7`, or only the file. */
  readonly place: string;
  readonly reason: string;
}

/** Elements by name. A graph that names a broken one gets its reason. */
export interface Elements extends ReadonlyMap<string, AnyElement> {
  readonly broken?: ReadonlyMap<string, BrokenElement>;
}

export function defineElement<P extends TObject>(definition: ElementDefinition<P>): ElementDefinition<P> {
  return Object.freeze(definition);
}

/** What a transform or sink does with frames. Every method may be async; frames wait for it. */
export interface Handler<P extends TObject = TObject> {
  /** Frames that this one takes at once, where that is fewer than the definition's `inFlight`. Read once, at the start. */
  readonly inFlight?: number;
  /** How long a live frame usually stays here: told to sinks that keep time. Read once, at the start. */
  readonly latencyMs?: number;
  /** `"drop"` keeps the frame from going on. A throw ends the graph with the error and its stack. */
  process(frame: Frame): undefined | "drop" | Promise<undefined | "drop"> | Promise<void> | void;
  /** The format is known or has changed; comes before the first frame of that format. */
  format?(format: FrameFormat): void | Promise<void>;
  /** A live property changed; gets all of them. A throw refuses the change and leaves the graph running. */
  update?(properties: Static<P>): void | Promise<void>;
  /** Frames in flight were discarded (seek, stop): forget what was remembered about them. */
  flush?(): void;
  /** The stream has ended; what was held back may still be written. */
  end?(): void | Promise<void>;
  /** Always called, once, whatever happened before. */
  close?(): void | Promise<void>;
}

export interface FrameFormat {
  /** GStreamer caps as text. */
  readonly caps: string;
  /** `video/x-raw`, `image/jpeg` … */
  readonly mediaType: string;
  /** Pixel format of raw video (`I420`), or null. */
  readonly pixels: string | null;
  readonly width: number;
  readonly height: number;
  /** Frames per second; 0 when variable or unknown. */
  readonly fps: number;
}

export interface Plane {
  /** A view of GStreamer's memory: no copy. Dead (length 0) once the handler has settled. */
  readonly data: Uint8Array;
  readonly stride: number;
  readonly width: number;
  readonly height: number;
}

/** What elements have found out about a frame. Frozen: `frame.write` makes the next version. */
export type FrameMetadata = { readonly [key: string]: Json };

/** One frame, alive until the handler that got it settles; afterwards its methods throw. */
export interface Frame {
  /** Counts the frames this element has been given, from 0. */
  readonly index: number;
  /** Presentation time in the stream; null where the stream has none. */
  readonly ptsNs: bigint | null;
  readonly durationNs: bigint | null;
  /** Unix time at which the picture was taken. */
  readonly captureNs: bigint;
  /** A gap came before this frame (reconnect, seek, loss). */
  readonly discontinuity: boolean;
  readonly format: FrameFormat;
  /** The picture as it came in, before anything in the graph resized it. */
  readonly inputSize: { readonly width: number; readonly height: number };
  readonly meta: FrameMetadata;
  /** Aborted when the frame is discarded (flush, stop). */
  readonly signal: AbortSignal;
  /** Adds to the metadata. The values are frozen and travel by reference. */
  write(part: FrameMetadata): void;
  /** Raw video: one entry a plane. Anything else: one entry with the bytes. */
  readonly planes: readonly Plane[];
  /** The bytes of all planes, rows without padding, in an array that outlives the frame. */
  copy(): Uint8Array;
  /** Resizes and converts into `target`, on the streaming thread. Raw I420 and NV12. Not to be transferred meanwhile. */
  tensor(target: Float32Array | Uint8Array, order: TensorOrder): Promise<TensorGeometry>;
  /** Draws on the planes, on the streaming thread. Needs `access: "write"`; raw I420 and NV12. */
  draw(shapes: readonly Shape[]): Promise<void>;
  /** The frame, or a part of it, as a picture file, encoded on the streaming thread. */
  image(type: "image/png" | "image/jpeg", part?: PicturePart): Promise<Uint8Array>;
}

/** What to take of a frame for a picture. */
export interface PicturePart {
  /** In fractions of the frame, within it. Default: all of it. */
  readonly region?: { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
  /** Made smaller, aspect kept, until its longer side has no more pixels than this. Never made larger. */
  readonly mostPixels?: number;
}

export interface TensorOrder {
  readonly width: number;
  readonly height: number;
  /** `letterbox` keeps the aspect and pads; `stretch` does not. */
  readonly fit: "letterbox" | "stretch";
  readonly layout: "nchw" | "nhwc";
  readonly colours: "rgb" | "bgr";
  /** Each value is `(pixel - mean) / std` per colour in the order of `colours`, pixels from 0 to 255. Float targets only. */
  readonly mean?: readonly [number, number, number];
  readonly std?: readonly [number, number, number];
  /** Pixel value of the padding before mean and std; default 114. */
  readonly padding?: number;
  /** Where the padding goes: around the picture, or right of and below it. Default `centre`. */
  readonly anchor?: "centre" | "top-left";
  /** Part of the frame to take, in fractions; default all of it. */
  readonly region?: { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
}

/** How to get back: `frame pixel = (tensor pixel - offset) / scale + origin`. */
export interface TensorGeometry {
  readonly scaleX: number;
  readonly scaleY: number;
  readonly offsetX: number;
  readonly offsetY: number;
  readonly originX: number;
  readonly originY: number;
}

/**
 * Pixels of the frame; colours as 0xRRGGBB; opacity from 0 to 1, where it may be left out 1. What lies outside the frame
 * is clipped. A box is drawn within its edges; `dash` is about the length of its dashes and gaps. The points of a line
 * may come as x, y, x, y …; at its first point a line has `start` times its opacity. The corner of a text is that of its
 * background, or its own where it has none; a line of text is 1.25 `size` high and a letter about 0.6 `size` wide, an
 * East Asian one twice that, and a background is `size / 4` wider on the left and on the right.
 */
export type Shape =
  | {
      kind: "box";
      x: number;
      y: number;
      width: number;
      height: number;
      colour: number;
      thickness: number;
      opacity?: number;
      dash?: number;
    }
  | { kind: "fill"; x: number; y: number; width: number; height: number; colour: number; opacity: number }
  | {
      kind: "line";
      points: readonly (readonly [number, number])[] | Float32Array;
      colour: number;
      thickness: number;
      opacity: number;
      start?: number;
    }
  | {
      kind: "text";
      x: number;
      y: number;
      text: string;
      size: number;
      colour: number;
      background?: number;
      opacity?: number;
    };

/** What the machine offers to elements while they run. */
export interface Services {
  /** Name of this node in the graph. */
  readonly node: string;
  readonly job: Job;
  readonly log: Log;
  /** To whoever runs the graph. Bounded: an element that floods loses the oldest, counted. */
  emit(event: ElementEvent): void;
  /** To standard output of whoever runs the graph; resolves when more may be written. */
  print(line: string): Promise<void>;
  /**
   * A message for whoever follows what the graph finds: a line of JSON on standard output in the foreground, a socket in
   * the service. Nothing is lost on the way there; resolves when more may be sent.
   */
  send(channel: string, message: JsonRecord): Promise<void>;
  /** A picture for whoever looks: false when it was dropped. Not there where nobody can look. */
  show?(captureNs: bigint, bytes: Uint8Array): boolean;
  /** Messages from outside, such as telemetry; `take` must not throw. Until the returned function is called. */
  listen(channel: string, take: (message: JsonRecord) => void): () => void;
}

/** What the graph is run for. */
export interface Job {
  /** Of the process; all zeros in the foreground, where there is none and the same clip must give the same bytes. */
  readonly uuid: string;
  /** What the graph is started on, without credentials; empty when it names its own source. */
  readonly sourceUri: string;
  /** Frames come at the pace of the world and may be dropped; otherwise (pace `fast`) nothing is, and nothing reads the clock. */
  readonly live: boolean;
  /** After how long a live source that stays away is given up, where whoever runs the graph says so. */
  readonly giveUpSeconds?: number | null;
  /** Ids of objects: from 1, never given twice while the process lives, whoever asks and however often the graph is relaunched. */
  nextTrackId(): number;
}

export interface Log {
  debug(message: string, fields?: JsonRecord): void;
  info(message: string, fields?: JsonRecord): void;
  warn(message: string, fields?: JsonRecord): void;
  error(message: string, fields?: JsonRecord): void;
}

export interface ElementEvent {
  readonly type: string;
  readonly [key: string]: Json;
}

export interface OpenServices extends Services {
  /** What the graph is started on, as `expand` saw it. */
  readonly source: SourceBinding | null;
}

export interface DriverServices extends OpenServices {
  /** Ends the graph with this reason. */
  fail(error: Error): void;
  /** Ends the stream at this node as if it had come to its end. */
  endOfStream(): void;
  /** Starts a disposable pipeline whose last node is an appsink, feeding this composite's appsrc. */
  ingest(expansion: Expansion): Promise<Ingest>;
}

export interface Driver {
  close(): void | Promise<void>;
  /** Of sources that go on by themselves: lets go until `resume`. Together or not at all. */
  pause?(): void | Promise<void>;
  resume?(): void;
}

/** One attempt at a live source. Closing it tears its pipeline down, however stuck that is. */
export interface Ingest {
  /** Milliseconds since the last data arrived, or since the start. */
  idleMs(): number;
  /** True once a first key frame has gone downstream. */
  readonly flowing: boolean;
  /** Settles when the pipeline ends by itself: null at end of stream, else the error. */
  readonly ended: Promise<Error | null>;
  close(): Promise<void>;
}

export interface ExpandContext {
  readonly registry: Registry;
  /** What the graph is started on, if anything. */
  readonly source: SourceBinding | null;
  /** Frames come at the pace of the world and may be dropped; at pace `fast` nothing ever is. */
  readonly live: boolean;
}

export interface SourceBinding {
  /** A path, `test:PATTERN`, or an rtsp, rtsps, rtmp or rtmps URL. */
  readonly uri: string;
  readonly pace?: "realtime" | "fast";
  /** Of a file whose container is known: the factory that reads it. Without it the file's content chooses one. */
  readonly demuxer?: string;
}

/** Elements linked in order. A composite of one node gives it its own name; of several, `name.suffix`. */
export interface Expansion {
  readonly nodes: readonly ExpandedNode[];
  /** Factories whose rank is raised above all others, in this order, before the pipeline is built. */
  readonly prefer?: readonly string[];
}

export interface ExpandedNode {
  readonly suffix: string;
  readonly factory: string;
  readonly properties: JsonRecord;
  /** Which of several pads goes on to the next node, by caps: `video/x-raw`, `application/x-rtp,media=video`. */
  readonly onward?: string;
}

/** A fault that only expanding could find; the compiler gives it the property's line. */
export class ExpandFault extends Error {
  override readonly name = "ExpandFault";
  readonly property: string | null;
  /** `property` is camelCase, or null when the fault is the element's as a whole. */
  constructor(property: string | null, message: string) {
    super(message);
    this.property = property;
  }
}
