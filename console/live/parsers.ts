/** Incremental parsers for the streams of a process: chunks of any size in, complete items out. Pure. */

export interface Parser<T> {
  /** Returns the items that are complete. Throws if the data is not such a stream. */
  push(chunk: Uint8Array): readonly T[];
}

export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

const MAX_EVENT_CHARACTERS = 16 * 2 ** 20;

/** Server-sent events. */
export class EventParser implements Parser<ServerEvent> {
  readonly #decoder = new TextDecoder();
  #pending = "";

  push(chunk: Uint8Array): readonly ServerEvent[] {
    this.#pending += this.#decoder.decode(chunk, { stream: true });
    const blocks = this.#pending.split(/\r?\n\r?\n/);
    this.#pending = blocks.pop() ?? "";
    if (this.#pending.length > MAX_EVENT_CHARACTERS)
      throw new Error(`expected an event of up to ${MAX_EVENT_CHARACTERS} characters`);
    return blocks.map(parseEvent).filter((event) => event.data !== "");
  }
}

function parseEvent(block: string): ServerEvent {
  let event = "message";
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, name, value = ""] = /^(\w+):? ?(.*)$/s.exec(line) ?? [];
    if (name === "event") event = value;
    if (name === "data") data.push(value);
  }
  return { event, data: data.join("\n") };
}

export interface FeedFrame {
  /** As in detection messages: UTC, ISO 8601 with milliseconds. */
  readonly timestamp: string;
  readonly jpeg: Uint8Array;
}

const MAX_HEADER_BYTES = 4096;
const MAX_FRAME_BYTES = 16 * 2 ** 20;
const HEADER_END = [13, 10, 13, 10];

/** JPEG frames of `multipart/x-mixed-replace`. Headers carry the length, so frames are not searched for boundaries. */
export class FeedParser implements Parser<FeedFrame> {
  #pending = new Uint8Array(0);

  push(chunk: Uint8Array): readonly FeedFrame[] {
    this.#pending = concat(this.#pending, chunk);
    const frames: FeedFrame[] = [];
    for (let frame = this.#next(); frame !== null; frame = this.#next()) frames.push(frame);
    return frames;
  }

  #next(): FeedFrame | null {
    const start = findBody(this.#pending);
    if (start === null) {
      if (this.#pending.length > MAX_HEADER_BYTES)
        throw new Error(`expected a part header of up to ${MAX_HEADER_BYTES} bytes`);
      return null;
    }
    const header = new TextDecoder().decode(this.#pending.subarray(0, start));
    const length = Number(/^content-length:\s*(\d+)/im.exec(header)?.[1] ?? Number.NaN);
    if (!(length > 0 && length <= MAX_FRAME_BYTES))
      throw new Error(`expected a content-length of 1 to ${MAX_FRAME_BYTES}, received ${length}`);
    if (this.#pending.length < start + length) return null;
    const jpeg = this.#pending.slice(start, start + length);
    this.#pending = this.#pending.slice(start + length);
    return { timestamp: /^x-timestamp:\s*(\S+)/im.exec(header)?.[1] ?? "", jpeg };
  }
}

function findBody(bytes: Uint8Array): number | null {
  const last = Math.min(bytes.length - HEADER_END.length, MAX_HEADER_BYTES);
  for (let i = 0; i <= last; i++)
    if (HEADER_END.every((value, j) => bytes[i + j] === value)) return i + HEADER_END.length;
  return null;
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
