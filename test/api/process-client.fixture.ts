/** A client of a running process: receives its detections and its feed. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { WebSocket } from "ws";
import { DetectionMessage } from "../../schemas/detection-message.ts";
import { checkBy } from "../../server/validation.ts";
import { Watch } from "../watch.fixture.ts";

const checkMessage = checkBy(DetectionMessage);

/** One `detection_data` socket. Checks every message against its schema. */
export class Detections {
  readonly messages: DetectionMessage[] = [];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  readonly #socket: WebSocket;
  readonly #watch = new Watch();
  #fault: string | null = null;

  private constructor(url: string) {
    this.#socket = new WebSocket(url, { handshakeTimeout: 60_000 });
    this.#socket.on("message", (data) => this.#receive(String(data)));
    this.closed = new Promise((resolve) => {
      this.#socket.on("close", (code, reason) => resolve({ code, reason: String(reason) }));
    });
  }

  static async open(url: string): Promise<Detections> {
    const detections = new Detections(url);
    await once(detections.#socket, "open");
    return detections;
  }

  /** Waits for more messages. */
  async next(count: number): Promise<readonly DetectionMessage[]> {
    const before = this.messages.length;
    await this.until(`${count} messages`, () => this.messages.length >= before + count);
    return this.messages.slice(before);
  }

  async until(what: string, holds: () => boolean): Promise<void> {
    await this.#watch.until(what, () => this.#fault !== null || holds(), 120_000);
    assert.equal(this.#fault, null);
  }

  close(): void {
    this.#socket.close();
  }

  #receive(text: string): void {
    const message = JSON.parse(text) as DetectionMessage;
    const faults = checkMessage(message);
    if (faults.length > 0) this.#fault = `${JSON.stringify(faults)} in ${text}`;
    this.messages.push(message);
    this.#watch.check();
  }
}

/** Reads the first pictures of a feed, then disconnects. */
export async function readFeed(url: string, count: number): Promise<readonly Buffer[]> {
  const leaving = new AbortController();
  const response = await fetch(url, { signal: leaving.signal });
  const type = response.headers.get("content-type") ?? "";
  assert.equal(response.status, 200, type);
  assert.match(type, /^multipart\/x-mixed-replace; *boundary=/);
  const pictures: Buffer[] = [];
  let bytes: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of response.body ?? []) {
      bytes = Buffer.concat([bytes, chunk]);
      for (let part = takePart(bytes); part !== null; part = takePart(bytes)) {
        pictures.push(part.picture);
        bytes = part.rest;
        if (pictures.length === count) return pictures;
      }
    }
  } finally {
    leaving.abort();
  }
  return assert.fail(`the feed ended after ${pictures.length} pictures`);
}

function takePart(bytes: Buffer): { readonly picture: Buffer; readonly rest: Buffer } | null {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return null;
  const head = bytes.subarray(0, end).toString("latin1");
  assert.match(head, /^x-timestamp: *\S+/im);
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? assert.fail(head));
  const start = end + 4;
  if (bytes.length < start + length) return null;
  return { picture: bytes.subarray(start, start + length), rest: bytes.subarray(start + length) };
}

/** Resolves with the caps of a picture decoded by GStreamer. */
export async function decodeJpeg(picture: Buffer): Promise<string> {
  const decoder = spawn("timeout", ["60", "gst-launch-1.0", "-v", ..."fdsrc ! jpegdec ! fakesink".split(" ")]);
  let printed = "";
  for (const stream of [decoder.stdout, decoder.stderr]) stream.on("data", (data) => (printed += data));
  decoder.stdin.on("error", () => {});
  decoder.stdin.end(picture);
  const [code] = await once(decoder, "close");
  assert.equal(code, 0, printed);
  const caps = printed.match(/video\/x-raw[^\n]*/);
  return caps?.[0] ?? assert.fail(printed);
}
