/** `--tracks FILE`: every track is written when it has ended. Also lists the files that a run has written. */
import { closeSync, openSync, statSync, writeSync } from "node:fs";
import { basename, extname } from "node:path";
import type { GraphPlan, PlanSegment } from "../../graphs/compiler/plan.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { ReportedTrack, TrackPoint, TrackReport } from "../../schemas/track-report.ts";
import { TRACKS_FORMAT_NAMES, TRACKS_FORMATS, type TracksFormatName } from "../../tracks/formats.ts";
import { CommandFailure, UsageFault } from "../command.ts";
import { formatBytes } from "../text.ts";
import type { Reporter } from "./reporter.ts";

export interface TracksOrder {
  readonly file: string;
  readonly format: TracksFormatName;
}

/** The format is the file extension. */
export function readTracksFile(file: string | undefined): TracksOrder | null {
  if (file === undefined) return null;
  const ending = extname(file).slice(1).toLowerCase();
  const format = TRACKS_FORMAT_NAMES.find((name) => name === ending);
  if (format !== undefined) return { file, format };
  throw new UsageFault(`--tracks writes ${TRACKS_FORMAT_NAMES.map((name) => `.${name}`).join(", ")}, not "${file}"`);
}

/** Throws `UsageFault` for a graph without the element `report`. */
export function expectReport({ graph, offers }: Pick<GraphPlan, "graph" | "offers">): void {
  if (offers.includes("report")) return;
  throw new UsageFault(`--tracks needs the element "report", and the graph "${graph}" has none; add it after "track"`);
}

type LiveTrack = ReportedTrack & { readonly points: TrackPoint[] };

export class TracksFile {
  readonly #order: TracksOrder;
  readonly #live = new Map<number, LiveTrack>();
  #descriptor: number | null;
  #tracks = 0;
  #bytes = 0;

  /** @param source URI of the source, for the title */
  constructor(order: TracksOrder, source: string) {
    this.#order = order;
    this.#descriptor = this.#try(() => openSync(order.file, "w"));
    this.#write(this.#format.writeHead({ title: basename(maskCredentials(source)) || "a graph", processUuid: null }));
  }

  take({ tracks }: TrackReport): void {
    for (const track of tracks) {
      const points = this.#live.get(track.id)?.points ?? [];
      points.push(...track.points);
      this.#live.set(track.id, { ...track, points });
      if (!track.isLive) this.#put(track.id);
    }
  }

  finish(reporter: Reporter): void {
    for (const id of [...this.#live.keys()]) this.#put(id);
    this.#write(this.#format.writeFoot());
    this.close();
    const { file } = this.#order;
    const tracks = `${this.#tracks} ${this.#tracks === 1 ? "track" : "tracks"}`;
    const record = { type: "written", file, bytes: this.#bytes, tracks: this.#tracks };
    reporter.note(`written: ${file}, ${tracks}, ${formatBytes(this.#bytes)}`, record);
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }

  get #format() {
    return TRACKS_FORMATS[this.#order.format];
  }

  #put(id: number): void {
    const track = this.#live.get(id);
    if (track === undefined) return;
    this.#live.delete(id);
    this.#write(this.#format.writeTrack(track, this.#tracks === 0));
    this.#tracks += 1;
  }

  #write(text: string): void {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; )
      at += this.#try(() => writeSync(this.#descriptor ?? -1, bytes, at, bytes.length - at));
    this.#bytes += bytes.length;
  }

  #try<T>(act: () => T): T {
    try {
      return act();
    } catch (cause) {
      throw new CommandFailure(`--tracks ${this.#order.file} cannot be written: ${(cause as Error).message}`, {
        cause,
      });
    }
  }
}

/** Files that the file sinks of a graph have written. */
export class WrittenFiles {
  readonly #paths = new Set<string>();

  place(segments: readonly PlanSegment[]): void {
    for (const { nodes } of segments)
      for (const { factory, properties } of nodes)
        if (factory === "filesink" && typeof properties.location === "string") this.#paths.add(properties.location);
  }

  report(reporter: Reporter): void {
    for (const file of this.#paths) {
      const found = statSync(file, { throwIfNoEntry: false });
      if (!found?.isFile()) continue;
      reporter.note(`written: ${file}, ${formatBytes(found.size)}`, { type: "written", file, bytes: found.size });
    }
  }
}
