/** The best picture of each track of which a verdict may come, taken while it can be. */
import type { JsonRecord } from "../../schemas/json.ts";
import { MOST_PATCH_BYTES, MOST_PATCH_PIXELS } from "../../schemas/track-report.ts";
import { choosePatch, isClearlyBetter, type PatchRegion, ratePatch } from "../../vision/patch.ts";
import type { Frame } from "../element.ts";
import type { Scene, Sighting } from "./alert-type.ts";

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
