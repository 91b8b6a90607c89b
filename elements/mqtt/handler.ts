import type { DetectionMessage, TrackEntry } from "../../schemas/detection-message.ts";
import type { Tracks } from "../../schemas/detections.ts";
import { fillTopic, type MqttDataTarget, readMqttTarget } from "../../schemas/mqtt-target.ts";
import { openMqtt } from "../cot/links.ts";
import { EventOutlet, OUTLET_LIMITS } from "../cot/outlet.ts";
import { makeMessage } from "../detections/message.ts";
import type { Frame, Handler, Services } from "../element.ts";
import { OutputReports } from "../output-reports.ts";

export interface MqttProperties {
  readonly url: string;
  readonly address: string | null;
  readonly sourceUuid: string;
}

export interface MqttOptions {
  readonly limits?: typeof OUTLET_LIMITS;
  /** Certificates to trust instead of the public ones: for tests. */
  readonly authorities?: string;
}

/** Times are those of the frames. */
interface PublishedTrack {
  readonly topic: string;
  readonly seenMs: number;
}

/** `track` ends tracks earlier; this bounds the state if a seek hides an end. */
const FORGOTTEN_MS = 120_000;
const NOTHING = Buffer.alloc(0);

export class MqttHandler implements Pick<Handler, "flush" | "close"> {
  readonly #job: Services["job"];
  readonly #reports: OutputReports;
  readonly #outlet: EventOutlet;
  readonly #target: MqttDataTarget;
  /** With the placeholders of tracks only. */
  readonly #topic: string;
  /** Tracks that have a topic of their own, by id. */
  readonly #tracks = new Map<number, PublishedTrack>();
  /** The time of the last message by topic. */
  readonly #sentMs = new Map<string, number>();

  /** Throws for an invalid URL. */
  constructor({ url, address, sourceUuid }: MqttProperties, services: Services, options: MqttOptions = {}) {
    const { limits = OUTLET_LIMITS, authorities } = options;
    const target = readMqttTarget(url);
    if (typeof target === "string") throw new Error(`the url of mqtt ${target}`);
    this.#target = target;
    this.#job = services.job;
    this.#reports = new OutputReports(services, { offline: "MQTT output offline", live: "MQTT output live" }, () => ({
      status: this.#outlet.status,
      detail: this.#outlet.detail,
      framesSent: this.#outlet.eventsSent,
      framesDropped: this.#outlet.eventsDropped,
    }));
    this.#topic = fillTopic(target.topic, { source_uuid: sourceUuid, process_uuid: services.job.uuid });
    const open = openMqtt({ ...target, ...(authorities !== undefined && { authorities }) }, address);
    this.#outlet = new EventOutlet(open, () => this.#reports.onStatus(), limits);
    this.#reports.report();
  }

  /** Never blocks. */
  process(frame: Pick<Frame, "captureNs" | "inputSize" | "meta">): void {
    const nowMs = Number(frame.captureNs / 1_000_000n);
    const message = makeMessage(frame, this.#job, false);
    if (message !== null) this.#publish(message, nowMs);
    for (const id of (frame.meta.tracks as Tracks | undefined)?.ended ?? []) this.#end(id);
    for (const [id, { seenMs }] of this.#tracks) if (Math.abs(nowMs - seenMs) > FORGOTTEN_MS) this.#end(id);
    this.#reports.tick();
  }

  /** `track` drops all its tracks: none of these ids returns. */
  flush(): void {
    for (const id of [...this.#tracks.keys()]) this.#end(id);
  }

  end(): void {
    this.flush();
  }

  async close(): Promise<void> {
    this.flush();
    await this.#outlet.close();
    this.#reports.report();
  }

  /** A message for each topic, with its tracks. */
  #publish(message: DetectionMessage, nowMs: number): void {
    const topics = new Map<string, TrackEntry[]>();
    if (!this.#topic.includes("{")) topics.set(this.#topic, []);
    for (const track of message.active_tracks) {
      const topic = fillTopic(this.#topic, { track_id: track.track_id, class_name: track.class_name });
      if (this.#topic.includes("{track_id}")) this.#see(track.track_id, topic, nowMs);
      const known = topics.get(topic);
      if (known === undefined) topics.set(topic, [track]);
      else known.push(track);
    }
    // Without tracks too, where the topic is that of all.
    for (const [topic, active_tracks] of topics) this.#send(topic, { ...message, active_tracks }, nowMs);
  }

  /** A track may get another class, and with it another topic. */
  #see(id: number, topic: string, seenMs: number): void {
    const known = this.#tracks.get(id);
    if (known !== undefined && known.topic !== topic) this.#end(id);
    this.#tracks.set(id, { topic, seenMs });
  }

  #send(topic: string, message: DetectionMessage, nowMs: number): void {
    const { intervalMs, isRetained } = this.#target;
    if (intervalMs > 0) {
      const sentMs = this.#sentMs.get(topic) ?? Number.NEGATIVE_INFINITY;
      if (Math.abs(nowMs - sentMs) < intervalMs) return;
      this.#sentMs.set(topic, nowMs);
    }
    this.#outlet.send({ topic, payload: Buffer.from(JSON.stringify(message)), isRetained });
  }

  /** Removes what the broker has kept: otherwise it would keep a message of every track that there ever was. */
  #end(id: number): void {
    const track = this.#tracks.get(id);
    if (track === undefined) return;
    this.#tracks.delete(id);
    this.#sentMs.delete(track.topic);
    if (this.#target.isRetained) this.#outlet.send({ topic: track.topic, payload: NOTHING, isRetained: true });
  }
}
