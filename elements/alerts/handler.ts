import { isDeepStrictEqual } from "node:util";
import type { AlertFinding, AlertRule } from "../../schemas/alerts.ts";
import type { Tracks } from "../../schemas/detections.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Places } from "../../schemas/places.ts";
import { describeTrack } from "../../schemas/track-entry.ts";
import { MOST_PATCH_BYTES, MOST_PATCH_PIXELS } from "../../schemas/track-report.ts";
import { choosePatch, isClearlyBetter, type PatchRegion, ratePatch } from "../../vision/patch.ts";
import type { Frame, Handler, Log } from "../element.ts";
import type { Evaluator, Scene, Sighting, Verdict } from "./alert-type.ts";
import { checkRule } from "./types.ts";

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

/** The rules in force: checked, each at work. */
export interface RuleAtWork {
  readonly alert: string;
  readonly type: string;
  /** With all defaults. */
  readonly configuration: unknown;
  readonly evaluator: Evaluator;
}

const MOST_FAULTS_SHOWN = 5;

/** Those that say the same as before go on as they were; others begin anew. Throws with what is wrong, and changes nothing. */
export function openRules(rules: readonly AlertRule[], before: readonly RuleAtWork[] = []): readonly RuleAtWork[] {
  const known = new Map(before.map((rule) => [rule.alert, rule]));
  const opened = new Map<string, RuleAtWork>();
  for (const [index, rule] of rules.entries()) {
    const which = `rule ${index + 1}, "${rule.alert}"`;
    if (opened.has(rule.alert))
      throw new Error(`${which}: another rule is called the same; expected names that differ`);
    const { type, configuration, faults } = checkRule(rule);
    if (faults !== undefined) throw new Error(`${which}: ${listFaults(faults)}`);
    const old = known.get(rule.alert);
    const isSame = old?.type === type.name && isDeepStrictEqual(old.configuration, configuration);
    opened.set(
      rule.alert,
      isSame ? old : { alert: rule.alert, type: type.name, configuration, evaluator: type.create(configuration) },
    );
  }
  return [...opened.values()];
}

function listFaults(faults: readonly { readonly path: string; readonly message: string }[]): string {
  const shown = faults.slice(0, MOST_FAULTS_SHOWN).map(({ path, message }) => `${path.slice(1)} ${message}`);
  const more = faults.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

/** The best picture of each track of which a verdict may come, taken while it can be. */
export type PatchFrame = Pick<Frame, "format" | "image">;

/** Of one frame. Those that are told of with it come first, and then those that may be. */
const MOST_CUT = 16;
const MOST_CUT_EARLY = 2;
const MOST_KEPT = 100;

interface Patch {
  readonly score: number;
  readonly timeMs: number;
  readonly confidence: number;
  readonly jpeg: Uint8Array;
}

export class Patches {
  readonly #kept = new Map<number, Patch>();

  /** Rejects where a picture cannot be taken; what was taken before stays. */
  async take(frame: PatchFrame, scene: Scene, told: ReadonlySet<number>, suspects: ReadonlySet<number>): Promise<void> {
    for (const id of this.#kept.keys()) if (!told.has(id) && !suspects.has(id)) this.#kept.delete(id);
    if (told.size > 0) await this.#takeAll(frame, scene, told, MOST_CUT);
    if (suspects.size > 0) await this.#takeAll(frame, scene, suspects, MOST_CUT_EARLY);
  }

  /** As notices have it; null where there is no picture. */
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

  async #takeAll(frame: PatchFrame, scene: Scene, wanted: ReadonlySet<number>, most: number): Promise<void> {
    let room = most;
    for (const { track } of scene.sightings) {
      if (room === 0 || this.#kept.size >= MOST_KEPT) return;
      if (!wanted.has(track.id) || track.predicted) continue;
      const score = ratePatch(track, frame.format);
      const region = choosePatch(track.box);
      if (region === null || !isClearlyBetter(score, this.#kept.get(track.id)?.score ?? 0)) continue;
      room -= 1;
      await this.#cut(frame, scene.timeMs, track, score, region);
    }
  }

  async #cut(
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
