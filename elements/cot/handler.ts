import { randomUUID } from "node:crypto";
import { type CotTarget, readCotTarget } from "../../schemas/cot-target.ts";
import type { Tracks } from "../../schemas/detections.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { Places } from "../../schemas/places.ts";
import type { Frame, Handler, Services } from "../element.ts";
import { type Affiliation, type Sighting, writeEvent } from "./event.ts";
import { openMqtt, openUdp } from "./links.ts";
import { EventOutlet, type OpenLink, OUTLET_LIMITS } from "./outlet.ts";

export interface CotProperties {
  readonly url: string;
  readonly address: string | null;
  readonly intervalMs: number;
  readonly staleSeconds: number;
  readonly affiliation: Affiliation;
}

export type CotFrame = Pick<Frame, "captureNs" | "meta">;

interface Shown {
  readonly sighting: Sighting;
  readonly seenMs: number;
  /** When it was last told of; by the time of the pictures, as all times here. */
  readonly toldMs: number;
}

const REPORT_EVERY_MS = 1000;
/** `track` gives everything up before; what it forgot in a seek must not stay here for ever. */
const FORGOTTEN_MS = 120_000;
/** Of a run in the foreground: all of them have it, and maps would take their tracks for the same. */
const NO_UUID = /^[0-]*$/;
/** Brokers say what they want, at any length. */
const MAX_LETTERS = 300;

export class CotHandler implements Pick<Handler, "flush" | "close"> {
  readonly #services: Services;
  readonly #outlet: EventOutlet;
  readonly #uuid: string;
  /** Tracks that the map has, by id. */
  readonly #shown = new Map<number, Shown>();
  #properties: CotProperties;
  #nowMs = 0;
  #reportedAtMs = 0;

  /** Throws for an invalid URL. */
  constructor(properties: CotProperties, services: Services, limits = OUTLET_LIMITS) {
    const target = readCotTarget(properties.url);
    if (typeof target === "string") throw new Error(`the url of cot ${target}`);
    this.#properties = properties;
    this.#services = services;
    const { uuid, live } = services.job;
    this.#uuid = live && NO_UUID.test(uuid) ? randomUUID() : uuid;
    if (!live)
      services.log.warn(
        "at pace fast the times of events begin with 1970, and maps show none of them: run it in real time to see them",
      );
    this.#outlet = new EventOutlet(openerOf(target, properties.address), () => this.#tellStatus(), limits);
    this.#report();
  }

  /** Never waits. */
  process({ captureNs, meta }: CotFrame): void {
    const tracks = meta.tracks as Tracks;
    this.#nowMs = Number(captureNs / 1_000_000n);
    if (tracks.inferred) this.#see(tracks, meta.places as Places | undefined);
    for (const id of tracks.ended) this.#end(id);
    this.#endForgotten();
    if (performance.now() - this.#reportedAtMs >= REPORT_EVERY_MS) this.#report();
  }

  /** Those that are not live are as they were. */
  update(properties: CotProperties): void {
    this.#properties = properties;
  }

  /** `track` forgets them all: none of them comes again. */
  flush(): void {
    for (const id of [...this.#shown.keys()]) this.#end(id);
  }

  end(): void {
    this.flush();
  }

  async close(): Promise<void> {
    this.flush();
    await this.#outlet.close();
    this.#report();
  }

  #see({ objects }: Tracks, places: Places | undefined): void {
    for (const [index, { id, className, confidence, predicted }] of objects.entries()) {
      const spot = places?.objects[index]?.spot ?? null;
      if (predicted || spot === null) continue;
      const sighting = { processUuid: this.#uuid, id, className, confidence, spot };
      const toldMs = this.#shown.get(id)?.toldMs ?? Number.NEGATIVE_INFINITY;
      const isDue = Math.abs(this.#nowMs - toldMs) >= this.#properties.intervalMs;
      if (isDue) this.#tell(sighting, this.#properties.staleSeconds * 1000);
      this.#shown.set(id, { sighting, seenMs: this.#nowMs, toldMs: isDue ? this.#nowMs : toldMs });
    }
  }

  #end(id: number): void {
    const shown = this.#shown.get(id);
    if (shown === undefined) return;
    this.#shown.delete(id);
    this.#tell(shown.sighting, 0);
  }

  #endForgotten(): void {
    for (const [id, { seenMs }] of this.#shown) if (Math.abs(this.#nowMs - seenMs) > FORGOTTEN_MS) this.#end(id);
  }

  #tell(sighting: Sighting, lastsMs: number): void {
    const times = { timeMs: this.#nowMs, staleMs: this.#nowMs + lastsMs };
    this.#outlet.send(Buffer.from(writeEvent(sighting, times, this.#properties.affiliation)));
  }

  #tellStatus(): void {
    const detail = this.#detail;
    if (detail !== null) this.#services.log.warn(`no events can be sent now: ${detail}`);
    else if (this.#outlet.status === "live") this.#services.log.info("events are sent");
    this.#report();
  }

  get #detail(): string | null {
    const { detail } = this.#outlet;
    return detail === null ? null : maskCredentials(detail).slice(0, MAX_LETTERS);
  }

  /** In the words of all outputs, where events are frames. */
  #report(): void {
    this.#reportedAtMs = performance.now();
    const { status, eventsSent, eventsDropped } = this.#outlet;
    const counts = { framesSent: eventsSent, framesDropped: eventsDropped };
    this.#services.emit({ type: "output", status, detail: this.#detail, ...counts });
  }
}

const openerOf = (target: CotTarget, address: string | null): OpenLink =>
  target.scheme === "udp" ? openUdp(target, address) : openMqtt(target, address);
