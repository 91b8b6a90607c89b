import { randomUUID } from "node:crypto";
import { readCotTarget } from "../../schemas/cot-target.ts";
import type { Tracks } from "../../schemas/detections.ts";
import type { Places } from "../../schemas/places.ts";
import type { Frame, Handler, Services } from "../element.ts";
import { OutputReports } from "../output-reports.ts";
import { type Affiliation, type Sighting, writeEvent } from "./event.ts";
import { openMqtt, openUdp } from "./links.ts";
import { EventOutlet, OUTLET_LIMITS } from "./outlet.ts";

export interface CotProperties {
  readonly url: string;
  readonly address: string | null;
  readonly intervalMs: number;
  readonly staleSeconds: number;
  readonly affiliation: Affiliation;
}

type CotFrame = Pick<Frame, "captureNs" | "meta">;

/** Times are those of the frames. */
interface ShownTrack {
  readonly sighting: Sighting;
  readonly seenMs: number;
  /** Time of its last event. */
  readonly sentMs: number;
}

/** `track` ends tracks earlier; this bounds the state if a seek hides an end. */
const FORGOTTEN_MS = 120_000;
/** UUID of runs in the foreground: with it, maps would mix up the tracks of different runs. */
const NO_UUID = /^[0-]*$/;

export class CotHandler implements Pick<Handler, "flush" | "close"> {
  readonly #reports: OutputReports;
  readonly #outlet: EventOutlet;
  /** Of MQTT. */
  readonly #topic: string;
  readonly #uuid: string;
  /** Tracks on the map, by id. */
  readonly #shown = new Map<number, ShownTrack>();
  #properties: CotProperties;
  #nowMs = 0;

  /** Throws for an invalid URL. */
  constructor(properties: CotProperties, services: Services, limits = OUTLET_LIMITS) {
    const target = readCotTarget(properties.url);
    if (typeof target === "string") throw new Error(`the url of cot ${target}`);
    this.#properties = properties;
    this.#reports = new OutputReports(services, { offline: "CoT output offline", live: "CoT output live" }, () => ({
      status: this.#outlet.status,
      detail: this.#outlet.detail,
      framesSent: this.#outlet.eventsSent,
      framesDropped: this.#outlet.eventsDropped,
    }));
    const { uuid, live } = services.job;
    this.#uuid = live && NO_UUID.test(uuid) ? randomUUID() : uuid;
    if (!live)
      services.log.warn(
        "at pace fast event times start in 1970 and maps do not show the events; use pace realtime to see them",
      );
    const { address } = properties;
    this.#topic = target.scheme === "mqtt" ? target.topic : "";
    const open = target.scheme === "udp" ? openUdp(target, address) : openMqtt(target, address);
    this.#outlet = new EventOutlet(open, () => this.#reports.onStatus(), limits);
    this.#reports.report();
  }

  /** Never blocks. */
  process({ captureNs, meta }: CotFrame): void {
    const tracks = meta.tracks as Tracks;
    this.#nowMs = Number(captureNs / 1_000_000n);
    if (tracks.inferred) this.#see(tracks, meta.places as Places | undefined);
    for (const id of tracks.ended) this.#end(id);
    this.#endForgotten();
    this.#reports.tick();
  }

  update(properties: CotProperties): void {
    this.#properties = properties;
  }

  /** `track` drops all its tracks: none of these ids returns. */
  flush(): void {
    for (const id of [...this.#shown.keys()]) this.#end(id);
  }

  end(): void {
    this.flush();
  }

  async close(): Promise<void> {
    this.flush();
    await this.#outlet.close();
    this.#reports.report();
  }

  #see({ objects }: Tracks, places: Places | undefined): void {
    for (const [index, { id, className, confidence, predicted }] of objects.entries()) {
      const spot = places?.objects[index]?.spot ?? null;
      if (predicted || spot === null) continue;
      const sighting = { processUuid: this.#uuid, id, className, confidence, spot };
      const sentMs = this.#shown.get(id)?.sentMs ?? Number.NEGATIVE_INFINITY;
      const isDue = Math.abs(this.#nowMs - sentMs) >= this.#properties.intervalMs;
      if (isDue) this.#send(sighting, this.#properties.staleSeconds * 1000);
      this.#shown.set(id, { sighting, seenMs: this.#nowMs, sentMs: isDue ? this.#nowMs : sentMs });
    }
  }

  #end(id: number): void {
    const shown = this.#shown.get(id);
    if (shown === undefined) return;
    this.#shown.delete(id);
    this.#send(shown.sighting, 0);
  }

  #endForgotten(): void {
    for (const [id, { seenMs }] of this.#shown) if (Math.abs(this.#nowMs - seenMs) > FORGOTTEN_MS) this.#end(id);
  }

  #send(sighting: Sighting, validMs: number): void {
    const times = { timeMs: this.#nowMs, staleMs: this.#nowMs + validMs };
    const payload = Buffer.from(writeEvent(sighting, times, this.#properties.affiliation));
    this.#outlet.send({ topic: this.#topic, payload });
  }
}
