/** Evaluates the rules on every frame and sends what they find, with the best image of each matching track. */
import { isDeepStrictEqual } from "node:util";
import { ALERT_CHANNEL, type AlertEvent, type AlertRule } from "../../schemas/alerts.ts";
import { describeTrack } from "../../schemas/detection-message.ts";
import type { Tracks } from "../../schemas/detections.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Places } from "../../schemas/places.ts";
import { Opening } from "../../schemas/schedule.ts";
import { MOST_PATCH_BYTES, MOST_PATCH_PIXELS } from "../../schemas/track-report.ts";
import { choosePatch, isClearlyBetter, type PatchRegion, ratePatch } from "../../vision/patch.ts";
import type { Frame, Handler, Services } from "../element.ts";
import type { RuleMatch, Scene, Sighting } from "./alert-type.ts";
import { ScheduledEvaluator } from "./scheduled.ts";
import { checkRule } from "./types.ts";

export type AlertsFrame = Pick<Frame, "captureNs" | "inputSize" | "meta" | "format" | "image" | "signal"> &
  Partial<Pick<Frame, "ptsNs">>;

interface AlertsProperties {
  readonly rules: readonly AlertRule[];
}

/** Limit per frame. */
const MAX_EVENTS = 200;
/** Width of an image of the whole frame. */
const SNAPSHOT_PIXELS = 1280;
/** Clocks are corrected by small steps; a larger step back is a seek. */
const MAX_BACK_MS = 1_000;
/** In the time of the frames. */
const WARN_EVERY_MS = 10_000;

type RuleEvent = RuleMatch & { readonly rule: ActiveRule };

/** Reads `tracks` and `places`. */
export class AlertsHandler implements Pick<Handler, "flush"> {
  readonly #services: Pick<Services, "send" | "log">;
  readonly #patches = new Patches();
  #rules: readonly ActiveRule[];
  #timeMs = Number.NEGATIVE_INFINITY;
  #warnedMs = Number.NEGATIVE_INFINITY;

  /** Throws for an invalid rule. */
  constructor({ rules }: AlertsProperties, services: Pick<Services, "send" | "log">) {
    this.#rules = openRules(rules);
    this.#services = services;
  }

  process(frame: AlertsFrame): Promise<void> | undefined {
    if (this.#rules.length === 0) return undefined;
    const tracks = frame.meta.tracks as Tracks;
    // Without inference all tracks are predicted: no rule can match.
    if (!tracks.inferred && tracks.ended.length === 0) return undefined;
    const scene = this.#read(frame, tracks);
    const events: RuleEvent[] = [];
    const candidates = new Set<number>();
    for (const rule of this.#rules) {
      for (const event of rule.evaluator.see(scene)) events.push({ ...event, rule });
      rule.evaluator.listCandidates?.(candidates);
    }
    if (events.length > 0 || candidates.size > 0) return this.#notify(frame, scene, events, candidates);
    this.#patches.forget();
    return undefined;
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
    if (readMs < this.#timeMs - MAX_BACK_MS) {
      this.flush();
      this.#timeMs = Number.NEGATIVE_INFINITY;
      this.#warnedMs = Number.NEGATIVE_INFINITY;
    }
    this.#timeMs = Math.max(this.#timeMs, readMs);
    const places = frame.meta.places as Places | undefined;
    const sightings = objects.map((track, index) => ({ track, place: places?.objects[index] ?? null }));
    return { timeMs: this.#timeMs, inferred, sightings, ended };
  }

  async #notify(
    frame: AlertsFrame,
    scene: Scene,
    events: readonly RuleEvent[],
    candidates: ReadonlySet<number>,
  ): Promise<void> {
    const dropped = events.length - MAX_EVENTS;
    if (dropped > 0) this.#warn(`${dropped} alert events of one frame dropped: limit is ${MAX_EVENTS}`);
    const sent = events.slice(0, MAX_EVENTS);
    const found = new Set(sent.flatMap(({ patchTrackId }) => patchTrackId ?? []));
    try {
      await this.#patches.take(frame, scene, found, candidates);
    } catch (error) {
      // A frame discarded by a stop or a seek is not a failure.
      const reason = error instanceof Error ? error.message : String(error);
      if (!frame.signal.aborted) this.#warn(`track image failed: ${reason}`);
    }
    const snapshot = sent.some(({ rule }) => rule.snapshot) ? await this.#takeSnapshot(frame) : null;
    for (const event of sent) {
      const described = this.#describe(event, frame, scene.timeMs);
      const message = snapshot !== null && event.rule.snapshot ? { ...described, snapshot } : described;
      await this.#services.send(ALERT_CHANNEL, message as unknown as JsonRecord);
    }
  }

  /** Base64; null if it cannot be encoded. */
  async #takeSnapshot(frame: AlertsFrame): Promise<string | null> {
    try {
      return Buffer.from(await frame.image("image/jpeg", { mostPixels: SNAPSHOT_PIXELS })).toString("base64");
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (!frame.signal.aborted) this.#warn(`snapshot failed: ${reason}`);
      return null;
    }
  }

  #describe(found: RuleEvent, { inputSize, ptsNs }: AlertsFrame, timeMs: number): AlertEvent {
    const { rule, event, sightings, data, patchTrackId } = found;
    return {
      alert: rule.alert,
      type: rule.type,
      timeMs,
      event,
      tracks: sightings.map(({ track, place }) => describeTrack(track, place, inputSize)),
      data: patchTrackId === undefined ? data : { ...data, patch: this.#patches.describe(patchTrackId) },
      ...(typeof ptsNs === "bigint" && { positionMs: Number(ptsNs / 1_000_000n) }),
    };
  }

  #warn(message: string): void {
    if (this.#timeMs - this.#warnedMs < WARN_EVERY_MS) return;
    this.#warnedMs = this.#timeMs;
    this.#services.log.warn(message);
  }
}

interface ActiveRule {
  readonly alert: string;
  readonly type: string;
  /** With all defaults. */
  readonly configuration: unknown;
  readonly evaluator: ScheduledEvaluator;
  /** Events carry an image of their frame. */
  readonly snapshot: boolean;
}

const MAX_FAULTS_SHOWN = 5;

/** Unchanged rules keep their evaluator; others get a new one. Throws for the first invalid rule, and changes nothing. */
function openRules(rules: readonly AlertRule[], before: readonly ActiveRule[] = []): readonly ActiveRule[] {
  const known = new Map(before.map((rule) => [rule.alert, rule]));
  const opened = new Map<string, ActiveRule>();
  for (const [index, rule] of rules.entries()) {
    const which = `rule ${index + 1}, "${rule.alert}"`;
    if (opened.has(rule.alert)) throw new Error(`${which}: another rule has the same name; expected unique names`);
    const { type, configuration, faults } = checkRule(rule);
    if (faults !== undefined) throw new Error(`${which}: ${listFaults(faults)}`);
    const old = known.get(rule.alert);
    const snapshot = rule.snapshot === true;
    const isSame = old?.type === type.name && isDeepStrictEqual(old.configuration, configuration);
    const evaluator = isSame ? old.evaluator : new ScheduledEvaluator(type.create(configuration));
    opened.set(rule.alert, { alert: rule.alert, type: type.name, configuration, evaluator, snapshot });
  }
  for (const { alert, schedule } of rules) {
    const evaluator = opened.get(alert)?.evaluator;
    if (evaluator !== undefined) evaluator.opening = schedule === undefined ? null : new Opening(schedule);
  }
  return [...opened.values()];
}

function listFaults(faults: readonly { readonly path: string; readonly message: string }[]): string {
  const shown = faults.slice(0, MAX_FAULTS_SHOWN).map(({ path, message }) => `${path.slice(1)} ${message}`);
  const more = faults.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

/** Images encoded per frame: of tracks with an event, and of tracks that may soon have one. */
const MAX_IMAGES = 16;
const MAX_EARLY_IMAGES = 2;
const MAX_KEPT = 100;

interface Patch {
  readonly score: number;
  readonly timeMs: number;
  readonly confidence: number;
  readonly jpeg: Uint8Array;
}

type PatchFrame = Pick<Frame, "format" | "image">;

/** The best image of each track that may cause an event, encoded while the track is visible. */
class Patches {
  readonly #kept = new Map<number, Patch>();

  /** Rejects if an image cannot be encoded; earlier images are kept. */
  async take(
    frame: PatchFrame,
    scene: Scene,
    found: ReadonlySet<number>,
    candidates: ReadonlySet<number>,
  ): Promise<void> {
    for (const id of this.#kept.keys()) if (!found.has(id) && !candidates.has(id)) this.#kept.delete(id);
    await this.#takeAll(frame, scene, found, MAX_IMAGES);
    await this.#takeAll(frame, scene, candidates, MAX_EARLY_IMAGES);
  }

  /** As in the notification; null without an image. */
  describe(id: number): JsonRecord | null {
    const patch = this.#kept.get(id);
    if (patch === undefined) return null;
    return {
      image: Buffer.from(patch.jpeg).toString("base64"),
      confidence: Math.round(patch.confidence * 10_000) / 100,
      timestamp: new Date(patch.timeMs).toISOString(),
    };
  }

  forget(): void {
    this.#kept.clear();
  }

  async #takeAll(frame: PatchFrame, scene: Scene, ids: ReadonlySet<number>, limit: number): Promise<void> {
    if (ids.size === 0) return;
    let room = limit;
    for (const { track } of scene.sightings) {
      if (room === 0 || this.#kept.size >= MAX_KEPT) return;
      if (!ids.has(track.id) || track.predicted) continue;
      const score = ratePatch(track, frame.format);
      const region = choosePatch(track.box);
      if (region === null || !isClearlyBetter(score, this.#kept.get(track.id)?.score ?? 0)) continue;
      room -= 1;
      await this.#encode(frame, scene.timeMs, track, score, region);
    }
  }

  async #encode(
    frame: PatchFrame,
    timeMs: number,
    { id, confidence }: Sighting["track"],
    score: number,
    region: PatchRegion,
  ): Promise<void> {
    for (const mostPixels of [MOST_PATCH_PIXELS, MOST_PATCH_PIXELS / 2]) {
      const jpeg = await frame.image("image/jpeg", { region, mostPixels });
      if (jpeg.length > MOST_PATCH_BYTES) continue;
      this.#kept.set(id, { score, timeMs, confidence, jpeg });
      return;
    }
  }
}
