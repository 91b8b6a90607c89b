/** HLS of one publication: answers for its playlists and files. */
import type { HttpAnswer } from "../http.ts";
import type { Reader } from "../streams.ts";
import { MEDIA_PLAYLIST, MULTIVARIANT_PLAYLIST, writeMedia, writeMultivariant } from "./playlist.ts";
import { Segmenter } from "./segmenter.ts";
import { WaitingRoom } from "./waiting-room.ts";
import { Window } from "./window.ts";

/** For a reload that waits: the segment, and perhaps its part, that must be in the playlist. */
interface Wanted {
  readonly segment: number;
  readonly part: number | null;
}

const FILE = /^([0-9a-z]+)_(init|part|seg)(\d{1,15})\.mp4$/;
const NUMBER = /^\d{1,15}$/;
/** A viewer asks for the next playlist and the next part at once. */
const REQUESTS_PER_VIEWER = 4;
/** draft 6.2.5.2: who asks for what is further ahead has lost count. */
const MOST_AHEAD = 2;
/** Until the first playlist can be given; a segment does not take longer. */
const FIRST_PLAYLIST_MS = 20_000;
/** draft 6.2.5.2 and appendix B.1: how long a reload waits, and for how long what does not change is kept, in targets. */
const WAIT_TARGETS = 3;
const KEPT_TARGETS = 6;
const MOST_TOKEN = 1024;

export class HlsStream {
  readonly reader: Reader;
  /** Of the stream: set by whoever joined it. */
  leave: () => void = () => {};
  readonly #window: Window;
  readonly #room: WaitingRoom;
  #askedAt = performance.now();

  constructor(readersPerStream: number, firstNumber: number, mostBytes: () => number) {
    this.#window = new Window(firstNumber, mostBytes);
    this.#room = new WaitingRoom(readersPerStream * REQUESTS_PER_VIEWER);
    this.reader = new Segmenter(this.#window, () => this.#room.wake());
  }

  get isEnded(): boolean {
    return this.#window.isEnded;
  }

  /** A segment that follows must not have a lower number. */
  get nextNumber(): number {
    return this.#window.growingNumber;
  }

  /** Since somebody asked for something; nobody waits. */
  get idleMs(): number {
    return this.#room.isEmpty ? performance.now() - this.#askedAt : 0;
  }

  async answer(file: string, query: URLSearchParams, signal: AbortSignal): Promise<HttpAnswer> {
    this.#askedAt = performance.now();
    const token = query.get("token");
    if (token !== null && token.length > MOST_TOKEN) return refuse(400, `a token of more than ${MOST_TOKEN} letters`);
    const onward = token === null ? "" : `?token=${encodeURIComponent(token)}`;
    if (file === MULTIVARIANT_PLAYLIST) return this.#answerMultivariant(onward);
    if (file === MEDIA_PLAYLIST) return this.#answerMedia(onward, query, signal);
    return this.#answerFile(file, signal);
  }

  close(): void {
    this.leave();
    this.#window.end();
    this.#room.clear();
  }

  #answerMultivariant(onward: string): HttpAnswer {
    const { init } = this.#window;
    if (init === null) return refuse(503, "the stream has not begun yet");
    return playlist(writeMultivariant(this.#window, init, onward), "no-cache");
  }

  async #answerMedia(onward: string, query: URLSearchParams, signal: AbortSignal): Promise<HttpAnswer> {
    const window = this.#window;
    const wanted = readWanted(query);
    if (wanted === "nonsense")
      return refuse(400, "_HLS_msn and _HLS_part must be numbers, and the second needs the first");
    if (wanted !== null && wanted.segment > window.growingNumber + MOST_AHEAD)
      return refuse(400, `_HLS_msn is too far ahead: ${window.growingNumber} is being made`);
    if (this.#room.isFull) return refuse(503, "too many requests wait for this stream");
    window.isWanted = true;
    const isSo = () => window.isEnded || (window.isReady && (wanted === null || this.#has(wanted)));
    const limitMs = window.isReady ? WAIT_TARGETS * window.targets.segmentSeconds * 1000 : FIRST_PLAYLIST_MS;
    await this.#room.wait(isSo, limitMs, signal);
    if (!window.isReady) return refuse(503, "the stream has no segment yet");
    if (!isSo()) return refuse(503, "what was asked for has not come in time");
    const { segmentSeconds } = window.targets;
    if (window.isEnded) return playlist(writeMedia(window, onward), "no-cache");
    // draft, appendix B.1: a reload that named what it wants is never asked for again by a viewer who is further on.
    const keptSeconds = wanted === null ? segmentSeconds / 2 : KEPT_TARGETS * segmentSeconds;
    return playlist(writeMedia(window, onward), keepFor(keptSeconds));
  }

  async #answerFile(file: string, signal: AbortSignal): Promise<HttpAnswer> {
    const window = this.#window;
    const [, name, kind, digits] = FILE.exec(file) ?? [];
    const number = Number(digits);
    if (name !== window.name) return gone();
    if (kind === "init") return this.#media(window.findInit(number)?.data);
    if (kind === "seg") return this.#media(joinParts(window.findSegment(number)?.parts));
    // The next one was hinted at: who asks for it gets it when it is there.
    if (number === window.nextPart && !window.isEnded) {
      const isSo = () => window.nextPart > number || window.isEnded;
      await this.#room.wait(isSo, WAIT_TARGETS * window.longestSegmentUs * 1e-3, signal);
    }
    return this.#media(window.findPart(number)?.data);
  }

  #media(body: Buffer | undefined): HttpAnswer {
    if (body === undefined) return gone();
    const keptSeconds = (KEPT_TARGETS * this.#window.longestSegmentUs) / 1e6;
    return { status: 200, headers: { "content-type": "video/mp4", "cache-control": keepFor(keptSeconds) }, body };
  }

  /** draft 6.2.5.2: a part beyond the last one of its segment is the first one of the next. */
  #has({ segment, part }: Wanted): boolean {
    const { growing, growingNumber } = this.#window;
    if (segment > growingNumber) return false;
    const count = growing?.parts.length ?? 0;
    if (segment === growingNumber) return part !== null && count > part;
    if (part === null || segment + 1 < growingNumber) return true;
    const { length } = this.#window.findSegment(segment)?.parts ?? [];
    return length === undefined || part < length || count > 0;
  }
}

function readWanted(query: URLSearchParams): Wanted | null | "nonsense" {
  const [segment, part] = [query.get("_HLS_msn"), query.get("_HLS_part")];
  if (segment === null) return part === null ? null : "nonsense";
  if (!NUMBER.test(segment) || (part !== null && !NUMBER.test(part))) return "nonsense";
  return { segment: Number(segment), part: part === null ? null : Number(part) };
}

const joinParts = (parts: readonly { readonly data: Buffer }[] | undefined): Buffer | undefined =>
  parts === undefined ? undefined : Buffer.concat(parts.map(({ data }) => data));

/** Only by the viewer's own cache: others have no right to it. */
const keepFor = (seconds: number): string => `private, max-age=${Math.max(Math.floor(seconds), 1)}`;

const playlist = (body: string, cacheControl: string): HttpAnswer => ({
  status: 200,
  headers: { "content-type": "application/vnd.apple.mpegurl", "cache-control": cacheControl },
  body,
});

const refuse = (status: number, body: string): HttpAnswer => ({
  status,
  headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
  body,
});

const gone = (): HttpAnswer => refuse(404, "there is no such file, or not any more");
