import { randomUUID } from "node:crypto";
import { readCotTarget } from "../../schemas/cot-target.ts";
import type { Tracks } from "../../schemas/detections.ts";
import type { Places } from "../../schemas/places.ts";
import type { FrameTelemetry } from "../../schemas/telemetry.ts";
import type { Frame, Handler, Services } from "../element.ts";
import { OutputReports } from "../output-reports.ts";
import { CameraCourse } from "./camera-course.ts";
import {
  type Affiliation,
  type CameraSighting,
  type Sighting,
  writeCamera,
  writeEvent,
  writeInterest,
} from "./event.ts";
import { openMqtt, openTak, openUdp } from "./links.ts";
import { EventOutlet, OUTLET_LIMITS } from "./outlet.ts";

export interface CotProperties {
  readonly url: string;
  readonly address: string | null;
  readonly intervalMs: number;
  readonly staleSeconds: number;
  readonly affiliation: Affiliation;
  readonly camera: boolean;
  readonly callsign: string;
  readonly videoUrl: string | null;
  readonly authorities: string | null;
  readonly serverName: string | null;
  readonly certificate: string | null;
  readonly key: string | null;
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
  readonly #course = new CameraCourse();
  #properties: CotProperties;
  #nowMs = 0;
  /** Time of the last events of the camera. */
  #cameraSentMs = Number.NEGATIVE_INFINITY;

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
    if (properties.videoUrl !== null && !URL.canParse(properties.videoUrl))
      throw new Error("the video-url of cot is not a URL");
    const open =
      target.scheme === "udp"
        ? openUdp(target, address)
        : target.scheme === "mqtt"
          ? openMqtt(target, address)
          : openTak({ ...target, ...properties });
    this.#outlet = new EventOutlet(open, () => this.#reports.onStatus(), limits);
    this.#reports.report();
  }

  /** Never blocks. */
  process({ captureNs, meta }: CotFrame): void {
    const tracks = meta.tracks as Tracks;
    this.#nowMs = Number(captureNs / 1_000_000n);
    if (tracks.inferred) this.#see(tracks, meta.places as Places | undefined);
    if (this.#properties.camera) this.#seeCamera(meta as { telemetry?: FrameTelemetry; places?: Places });
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
      const { spot = null, ellipse } = places?.objects[index] ?? {};
      if (predicted || spot === null) continue;
      const sighting = { processUuid: this.#uuid, id, className, confidence, spot, ...(ellipse && { ellipse }) };
      const sentMs = this.#shown.get(id)?.sentMs ?? Number.NEGATIVE_INFINITY;
      const isDue = Math.abs(this.#nowMs - sentMs) >= this.#properties.intervalMs;
      if (isDue) this.#send(sighting, this.#properties.staleSeconds * 1000);
      this.#shown.set(id, { sighting, seenMs: this.#nowMs, sentMs: isDue ? this.#nowMs : sentMs });
    }
  }

  #seeCamera({ telemetry, places }: { readonly telemetry?: FrameTelemetry; readonly places?: Places }): void {
    const { position = null, attitude = null, hfov = 0, vfov = 0 } = telemetry ?? {};
    if (position === null || attitude === null) return;
    const motion = this.#course.add(this.#nowMs, position);
    if (Math.abs(this.#nowMs - this.#cameraSentMs) < this.#properties.intervalMs) return;
    this.#cameraSentMs = this.#nowMs;
    const { callsign, videoUrl, staleSeconds } = this.#properties;
    const camera: CameraSighting = {
      ...{ processUuid: this.#uuid, callsign, position, attitude, hfov, vfov, motion, videoUrl },
      centre: places?.centre ?? null,
    };
    const times = { timeMs: this.#nowMs, staleMs: this.#nowMs + staleSeconds * 1000 };
    for (const text of [writeCamera(camera, times), writeInterest(camera, times)])
      if (text !== null) this.#outlet.send({ topic: this.#topic, payload: Buffer.from(text) });
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
