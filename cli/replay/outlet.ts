/** Prints the notifications: readable lines on a screen, else JSON; also to files of `--out` and `--patches`. */
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { TrackEntry } from "../../schemas/detection-message.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { CommandFailure } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import type { Colour, Paint } from "../text.ts";
import { padTo } from "../text.ts";
import { formatClipTime, formatLine, type Sender, type Sending } from "./sending.ts";

export interface OutletOptions {
  readonly senders: readonly Sender[];
  /** `--out`. */
  readonly file: string | null;
  readonly isJson: boolean;
  readonly isQuiet: boolean;
}

export class Outlet {
  readonly #options: OutletOptions;
  readonly #terminal: Terminal;
  #descriptor: number | null;

  constructor(options: OutletOptions, terminal: Terminal) {
    this.#options = options;
    this.#terminal = terminal;
    this.#descriptor = options.file === null ? null : this.#try(() => openSync(options.file ?? "", "w"));
  }

  /** On a screen, unless --json is given. */
  get isReadable(): boolean {
    return this.#terminal.isOutLive && !this.#options.isJson;
  }

  /** Resolves when more may be written. */
  async show(sendings: readonly Sending[], startMs: number): Promise<void> {
    const { senders, isQuiet } = this.#options;
    for (const sending of sendings) {
      const sender = senders[sending.row];
      if (sender === undefined) continue;
      const line = formatLine(sending, sender, startMs);
      this.#write(`${line}\n`);
      if (!this.isReadable) await this.#terminal.print(line);
      else if (!isQuiet) await this.#terminal.print(formatSending(sending, senders, startMs, this.#terminal.paintOut));
    }
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }

  #write(text: string): void {
    const { file } = this.#options;
    if (this.#descriptor === null || file === null) return;
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; )
      at += this.#try(() => writeSync(this.#descriptor ?? -1, bytes, at, bytes.length - at));
  }

  #try<T>(act: () => T): T {
    try {
      return act();
    } catch (cause) {
      throw new CommandFailure(`--out ${this.#options.file} cannot be written: ${(cause as Error).message}`, { cause });
    }
  }
}

const COLOURS: Readonly<Record<string, Colour>> = { triggered: "yellow", updated: "blue", cleared: "green" };
const TIME_COLUMNS = 9;
const EVENT_COLUMNS = 12;
const MOST_NAME_COLUMNS = 24;
const MOST_TRACKS = 4;
const MOST_VALUE_CHARACTERS = 32;

/** @param senders of all rows, to align the columns */
export function formatSending(
  { timeMs, row, event, body }: Sending,
  senders: readonly Sender[],
  startMs: number,
  paint: Paint,
): string {
  const sender = senders[row];
  const width = Math.min(MOST_NAME_COLUMNS, Math.max(...senders.map(({ name }) => name.length)));
  const name = cut(sender?.name ?? "", MOST_NAME_COLUMNS);
  const colour = COLOURS[event] ?? "cyan";
  const what = sender?.kind === "alert" ? event : "webhook";
  return [
    paint("dim", formatClipTime(timeMs, startMs).padStart(TIME_COLUMNS)),
    padTo(paint("bold", name), width),
    padTo(paint(colour, what), EVENT_COLUMNS),
    sender?.kind === "alert" ? briefNotice(body) : briefWebhook(body),
  ]
    .join("  ")
    .trimEnd();
}

function briefNotice(body: JsonRecord): string {
  const tracks = body.tracks as readonly TrackEntry[];
  return [listTracks(tracks), briefData(body.data as JsonRecord)].filter((part) => part !== "").join("  ");
}

function listTracks(tracks: readonly TrackEntry[]): string {
  const shown = tracks.slice(0, MOST_TRACKS).map(({ track_id, class_name }) => `${class_name} ${track_id}`);
  const more = tracks.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

function briefData(data: JsonRecord): string {
  return Object.entries(data)
    .flatMap(([name, value]) => {
      const text = briefValue(value);
      return text === null ? [] : [`${name} ${text}`];
    })
    .join(", ");
}

/** Null for long values such as images: `--json` has them. */
function briefValue(value: Json | undefined): string | null {
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return null;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > MOST_VALUE_CHARACTERS ? null : text;
}

function briefWebhook({ track_count, previous_count }: JsonRecord): string {
  if (previous_count !== undefined) return `${track_count} targets, ${previous_count} before`;
  return `${track_count} new ${track_count === 1 ? "track" : "tracks"}`;
}

const cut = (text: string, columns: number): string =>
  text.length <= columns ? text : `${text.slice(0, columns - 1)}…`;

/** `--patches DIR`: saves the images of notifications. */
export class PatchFolder {
  readonly #folder: string;
  #count = 0;

  /** Throws `CommandFailure` if the folder cannot be created. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#try(() => mkdirSync(folder, { recursive: true }));
  }

  get count(): number {
    return this.#count;
  }

  /** Returns the notification with a file name in place of the image; unchanged if it has none. */
  save(body: JsonRecord, alias: string): JsonRecord {
    const { patch, ...data } = (body.data ?? {}) as JsonRecord;
    if (typeof patch !== "object" || patch === null || !("image" in patch)) return body;
    const { image, ...rest } = patch as JsonRecord;
    this.#count += 1;
    const number = String(this.#count).padStart(4, "0");
    const file = `${number}-${nameOf(alias)}-track-${data.track_id}.jpg`;
    this.#try(() => writeFileSync(join(this.#folder, file), Buffer.from(String(image), "base64")));
    return { ...body, data: { ...data, patch: { file, ...rest } } };
  }

  #try(act: () => void): void {
    try {
      act();
    } catch (cause) {
      throw new CommandFailure(`--patches ${this.#folder} cannot be written: ${(cause as Error).message}`, { cause });
    }
  }
}

/** An alias as part of a file name. */
const nameOf = (alias: string): string =>
  alias
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 40)
    .toLowerCase() || "alert";
