import type { AlertFinding, AlertRule } from "../../schemas/alerts.ts";
import { describeTrack } from "../../schemas/detection-message.ts";
import type { Tracks } from "../../schemas/detections.ts";
import type { Places } from "../../schemas/places.ts";
import type { Frame, Handler, Log } from "../element.ts";
import type { Scene, Verdict } from "./alert-type.ts";
import { Patches } from "./patches.ts";
import { openRules, type RuleAtWork } from "./rule-book.ts";

export type AlertsFrame = Pick<Frame, "captureNs" | "inputSize" | "meta" | "format" | "image" | "signal">;

export interface AlertsProperties {
  readonly rules: readonly AlertRule[];
}

/** Of one frame. */
const MOST_FINDINGS = 200;
/** Clocks are set back by moments; what goes further back is another time. */
const MOST_BACK_MS = 1_000;
/** By the time of the pictures. */
const COMPLAIN_EVERY_MS = 10_000;

interface Found {
  readonly rule: RuleAtWork;
  readonly verdict: Verdict;
}

/** Reads `tracks` and `places`, and sends what the rules find. */
export class AlertsHandler implements Pick<Handler, "flush"> {
  readonly #send: (finding: AlertFinding) => Promise<void>;
  readonly #log: Log;
  readonly #patches = new Patches();
  #rules: readonly RuleAtWork[];
  #timeMs = Number.NEGATIVE_INFINITY;
  #complainedMs = Number.NEGATIVE_INFINITY;

  /** Throws for a rule that is wrong. */
  constructor({ rules }: AlertsProperties, send: (finding: AlertFinding) => Promise<void>, log: Log) {
    this.#rules = openRules(rules);
    this.#send = send;
    this.#log = log;
  }

  process(frame: AlertsFrame): Promise<void> | undefined {
    if (this.#rules.length === 0) return undefined;
    const tracks = frame.meta.tracks as Tracks;
    // Rules go by what was seen: on a frame that nobody looked at, nothing was.
    if (!tracks.inferred && tracks.ended.length === 0) return undefined;
    const scene = this.#read(frame, tracks);
    const { found, suspects } = this.#judge(scene);
    if (found.length === 0 && suspects.size === 0) {
      this.#patches.forget();
      return undefined;
    }
    return this.#tell(frame, scene, found, suspects);
  }

  update({ rules }: AlertsProperties): void {
    this.#rules = openRules(rules, this.#rules);
  }

  flush(): void {
    for (const { evaluator } of this.#rules) evaluator.forget();
    this.#patches.forget();
  }

  #read(frame: AlertsFrame, { inferred, objects, ended }: Tracks): Scene {
    const readMs = Number(frame.captureNs / 1_000_000n);
    if (readMs < this.#timeMs - MOST_BACK_MS) {
      this.flush();
      this.#timeMs = Number.NEGATIVE_INFINITY;
      this.#complainedMs = Number.NEGATIVE_INFINITY;
    }
    this.#timeMs = Math.max(this.#timeMs, readMs);
    const places = frame.meta.places as Places | undefined;
    const sightings = objects.map((track, index) => ({ track, place: places?.objects[index] ?? null }));
    return { timeMs: this.#timeMs, inferred, sightings, ended };
  }

  #judge(scene: Scene): { readonly found: readonly Found[]; readonly suspects: ReadonlySet<number> } {
    const found: Found[] = [];
    const suspects = new Set<number>();
    for (const rule of this.#rules) {
      for (const verdict of rule.evaluator.see(scene)) found.push({ rule, verdict });
      rule.evaluator.listSuspects?.(suspects);
    }
    return { found, suspects };
  }

  async #tell(frame: AlertsFrame, scene: Scene, found: readonly Found[], suspects: ReadonlySet<number>): Promise<void> {
    if (found.length > MOST_FINDINGS)
      this.#complain(`${found.length - MOST_FINDINGS} findings of one frame were dropped: more than ${MOST_FINDINGS}`);
    const told = found.slice(0, MOST_FINDINGS);
    const pictured = new Set(told.flatMap(({ verdict }) => verdict.patchOf ?? []));
    try {
      await this.#patches.take(frame, scene, pictured, suspects);
    } catch (error) {
      // A frame discarded by a stop or a seek is nobody's failure.
      const reason = error instanceof Error ? error.message : String(error);
      if (!frame.signal.aborted) this.#complain(`no picture of a track was taken: ${reason}`);
    }
    for (const one of told) await this.#send(this.#describe(one, frame, scene.timeMs));
  }

  #describe({ rule, verdict }: Found, { inputSize }: AlertsFrame, timeMs: number): AlertFinding {
    const { event, sightings, data, patchOf } = verdict;
    return {
      alert: rule.alert,
      type: rule.type,
      timeMs,
      event,
      tracks: sightings.map(({ track, place }) => describeTrack(track, place, inputSize)),
      data: patchOf === undefined ? data : { ...data, patch: this.#patches.describe(patchOf) },
    };
  }

  #complain(message: string): void {
    if (this.#timeMs - this.#complainedMs < COMPLAIN_EVERY_MS) return;
    this.#complainedMs = this.#timeMs;
    this.#log.warn(message);
  }
}
