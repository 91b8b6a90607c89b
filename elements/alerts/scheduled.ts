/**
 * Evaluates a rule only while its schedule is open, by the time of the frames. It is not enough to discard its events
 * meanwhile: an object that has been there since before the opening would then never be reported. At the end of a window
 * the rule sees an empty picture, so that what is triggered is cleared.
 */
import type { Opening } from "../../schemas/schedule.ts";
import { type Evaluator, NO_EVENTS, type RuleMatch, type Scene } from "./alert-type.ts";

export class ScheduledEvaluator implements Evaluator {
  readonly #evaluator: Evaluator;
  /** Null: always open. A change keeps the state of the rule. */
  opening: Opening | null = null;
  /** Tracks that the rule knows of. */
  readonly #trackIds = new Set<number>();
  #isOpen = false;

  constructor(evaluator: Evaluator) {
    this.#evaluator = evaluator;
  }

  see(scene: Scene): readonly RuleMatch[] {
    if (this.opening?.isOpen(scene.timeMs) === false) return this.#close(scene.timeMs);
    this.#isOpen = true;
    for (const { track } of scene.sightings) this.#trackIds.add(track.id);
    for (const id of scene.ended) this.#trackIds.delete(id);
    return this.#evaluator.see(scene);
  }

  forget(): void {
    this.#trackIds.clear();
    this.#evaluator.forget();
  }

  listCandidates(into: Set<number>): void {
    if (this.#isOpen) this.#evaluator.listCandidates?.(into);
  }

  #close(timeMs: number): readonly RuleMatch[] {
    if (!this.#isOpen) return NO_EVENTS;
    this.#isOpen = false;
    const ended = [...this.#trackIds];
    const cleared = this.#evaluator.see({ timeMs, inferred: true, sightings: [], ended });
    this.forget();
    return cleared.filter(({ event }) => event === "cleared");
  }
}
