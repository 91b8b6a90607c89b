/** What is added to the times of samples to get the time of the video: slowly followed, so that nothing jumps without need. */
import { ClockSkew } from "./clock-skew.ts";
import type { Match } from "./turn-match.ts";

/** One standard deviation each, in milliseconds. */
const ERRORS = { set: 10, same: 40, different: 150 } as const;
/** What is that far off helps nobody by being followed slowly. */
const JUMP_MS = 400;
/** Milliseconds a second of video. */
const FOLLOW = 50;
/** Two matches in a row that differ by less are believed. */
const AGREE_MS = 80;
/** Share of a new match. */
const TRUST = 0.25;

export class ClockOffset {
  readonly #skew = new ClockSkew();
  #setting: "auto" | number;
  /** By matches, besides the skew. */
  #fine: Match | null = null;
  #candidate: Match | null = null;
  #appliedMs: number | null = null;
  #lastMs: number | null = null;

  constructor(setting: "auto" | number) {
    this.#setting = setting;
  }

  get isEstimated(): boolean {
    return this.#setting === "auto";
  }

  set(setting: "auto" | number): void {
    if (setting === this.#setting) return;
    this.#setting = setting;
    this.#fine = null;
    this.#candidate = null;
    this.#appliedMs = null;
  }

  /** The sender's clock has been set. */
  restart(): void {
    this.#skew.restart();
    this.#fine = null;
    this.#candidate = null;
    this.#appliedMs = null;
  }

  noteArrival(timeMs: number, receivedMs: number): void {
    this.#skew.note(timeMs, receivedMs);
  }

  noteMatch({ offsetMs, errorMs }: Match): void {
    const found = { offsetMs: offsetMs - this.#skew.offsetMs, errorMs };
    const agrees = this.#candidate !== null && Math.abs(found.offsetMs - this.#candidate.offsetMs) < AGREE_MS;
    this.#candidate = found;
    if (!agrees) return;
    const last = this.#fine;
    const isFar = last === null || Math.abs(found.offsetMs - last.offsetMs) > AGREE_MS;
    this.#fine = isFar ? found : { offsetMs: last.offsetMs + TRUST * (found.offsetMs - last.offsetMs), errorMs };
  }

  /** At a frame's time. */
  read(frameMs: number): { readonly offsetMs: number; readonly errorMs: number } {
    if (this.#setting !== "auto") return { offsetMs: this.#setting, errorMs: ERRORS.set };
    const target = this.targetMs;
    const passed = this.#lastMs === null ? 0 : Math.max(0, frameMs - this.#lastMs) / 1000;
    this.#lastMs = frameMs;
    const applied = this.#appliedMs ?? target;
    const away = target - applied;
    const most = FOLLOW * passed;
    this.#appliedMs = Math.abs(away) > JUMP_MS ? target : applied + Math.min(Math.max(away, -most), most);
    const known = this.#fine?.errorMs ?? (this.#skew.differs ? ERRORS.different : ERRORS.same);
    return { offsetMs: this.#appliedMs, errorMs: Math.max(known, ERRORS.set) };
  }

  /** Where the offset is going to. */
  get targetMs(): number {
    return this.#setting === "auto" ? this.#skew.offsetMs + (this.#fine?.offsetMs ?? 0) : this.#setting;
  }
}
