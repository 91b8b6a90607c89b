/** The numbers of a run that tests expect, counted from its messages. Pure. */
import { ALERT_CHANNEL, type AlertEvent } from "../../schemas/alerts.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { Metric } from "../../schemas/graph-tests.ts";
import type { JsonRecord } from "../../schemas/json.ts";

export const DETECTION_CHANNEL = "detection_data";

/** What a run is, besides its messages. */
export interface RunNumbers {
  readonly frames: number;
  readonly clipSeconds: number;
  readonly seconds: number;
}

export class Tally {
  /** Names of alerts by what their events name. */
  readonly #aliases: ReadonlyMap<string, string>;
  readonly #detections = new Map<string, number>();
  readonly #tracks = new Map<string, Set<number>>();
  /** The highest of each name. */
  readonly #counts = new Map<string, number>();
  /** By alias, then by event. */
  readonly #alerts = new Map<string, Map<string, number>>();
  #messages = 0;

  constructor(aliases: ReadonlyMap<string, string>) {
    this.#aliases = aliases;
  }

  see(channel: string, message: JsonRecord): void {
    if (channel === DETECTION_CHANNEL) this.#seeFrame(message as unknown as DetectionMessage);
    if (channel === ALERT_CHANNEL) this.#seeAlert(message as unknown as AlertEvent);
  }

  #seeFrame({ active_tracks, counts = {} }: DetectionMessage): void {
    this.#messages += 1;
    for (const [name, { total }] of Object.entries(counts))
      this.#counts.set(name, Math.max(total, this.#counts.get(name) ?? 0));
    for (const { class_name: name, track_id: id } of active_tracks) {
      this.#detections.set(name, (this.#detections.get(name) ?? 0) + 1);
      // Without tracking all ids are 0.
      if (id === 0) continue;
      const ids = this.#tracks.get(name) ?? new Set();
      this.#tracks.set(name, ids.add(id));
    }
  }

  #seeAlert({ alert, event }: AlertEvent): void {
    const alias = this.#aliases.get(alert) ?? alert;
    const events = this.#alerts.get(alias) ?? new Map<string, number>();
    this.#alerts.set(alias, events.set(event, (events.get(event) ?? 0) + 1));
  }

  read(metric: Metric, { frames, clipSeconds, seconds }: RunNumbers): number {
    switch (metric.kind) {
      case "frames":
        return frames;
      case "messages":
        return this.#messages;
      case "fps_ratio":
        return seconds === 0 ? 0 : Math.round((clipSeconds / seconds) * 1000) / 1000;
      case "detections":
        return metric.className === null
          ? sum([...this.#detections.values()])
          : (this.#detections.get(metric.className) ?? 0);
      case "tracks":
        return metric.className === null
          ? new Set([...this.#tracks.values()].flatMap((ids) => [...ids])).size
          : (this.#tracks.get(metric.className)?.size ?? 0);
      case "counts":
        return this.#counts.get(metric.name) ?? 0;
      case "alerts":
        return sum(
          [...this.#alerts]
            .filter(([alias]) => (metric.alias ?? alias) === alias)
            .flatMap(([, events]) => [...events])
            .map(([event, count]) => ((metric.event ?? event) === event ? count : 0)),
        );
    }
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
