/** The offset from the times of samples to the time of the video, followed slowly to avoid jumps. */
import type { Match } from "./turn-match.ts";

/**
 * One standard deviation each, in milliseconds. Samples of a file start with the video. For live telemetry the offset is
 * known only by arrivals until the image has matched: frames without a clock of their own are stamped on arrival, late.
 */
const ERRORS = { set: 10, file: 40, arrival: 400 } as const;
/** Times of the video that are known better than this are not refined by the image. */
const EXACT_MS = 50;
/** Delay of a live frame since its capture; outside this range it has been stamped by a clock of its own. */
const FRAME_MS = { least: -500, most: 10_000 } as const;
/** Samples and frames whose delays differ by less share a clock. */
const SHARED_MS = 1500;
/** Hysteresis of `SHARED_MS`. */
const STILL_SHARED_MS = 2000;
/** Larger changes are applied at once. */
const JUMP_MS = 400;
/** Milliseconds per second of video. */
const FOLLOW = 50;
/** Two matches in a row that differ by less are accepted. */
const AGREE_MS = 80;
/** Weight of a new match. */
const TRUST = 0.25;

/** The video uses the local clock (`ours`), the sender's clock (`shared`), or neither (`apart`). */
type Clocks = "ours" | "shared" | "apart";

export class ClockOffset {
  readonly #skew = new ClockSkew();
  readonly #videoSkew = new ClockSkew();
  #clocks: Clocks = "ours";
  #differs = false;
  #baseMs = 0;
  #setting: "auto" | number;
  /** Correction by matches, in addition to arrivals. */
  #fine: Match | null = null;
  #candidate: Match | null = null;
  #appliedMs: number | null = null;
  #lastMs: number | null = null;
  /** Samples have the time of the video, with this error. */
  #knownErrorMs: number | null = null;

  constructor(setting: "auto" | number) {
    this.#setting = setting;
  }

  get isEstimated(): boolean {
    return this.#setting === "auto" && (this.#knownErrorMs === null || this.#knownErrorMs > EXACT_MS);
  }

  /** Samples have the time of the video: they came with it, or were aligned to it. */
  noteKnown(errorMs: number): void {
    this.#knownErrorMs = errorMs;
  }

  set(setting: "auto" | number): void {
    if (setting === this.#setting) return;
    this.#setting = setting;
    this.#fine = null;
    this.#candidate = null;
    this.#appliedMs = null;
  }

  /** The sender's clock was set. */
  restart(): void {
    this.#skew.restart();
    this.#fine = null;
    this.#candidate = null;
    this.#appliedMs = null;
    this.#compareClocks();
  }

  /** The video may continue with another clock: after a pause or a new connection. */
  restartVideo(): void {
    this.#videoSkew.restart();
  }

  noteArrival(timeMs: number, receivedMs: number): void {
    this.#skew.note(timeMs, receivedMs);
    this.#compareClocks();
  }

  /** For live video: capture time by its own timestamp, and arrival by the local clock. */
  noteFrame(frameMs: number, nowMs: number): void {
    this.#videoSkew.note(frameMs, nowMs);
    this.#compareClocks();
  }

  /** Determines the clocks and the offset by arrivals. The total offset found by matches is kept. */
  #compareClocks(): void {
    const [before, wasMs, differed] = [this.#clocks, this.#baseMs, this.#differs];
    const [sampleMs, frameMs] = [this.#skew.measuredMs, this.#videoSkew.measuredMs];
    this.#differs = this.#skew.differs;
    this.#clocks = sampleMs === null || frameMs === null ? "ours" : this.#compare(sampleMs, frameMs);
    if (this.#clocks === "shared") this.#baseMs = 0;
    else this.#baseMs = this.#clocks === "ours" ? this.#skew.offsetMs : (sampleMs ?? 0) - (frameMs ?? 0);
    if (before === this.#clocks && differed === this.#differs) return;
    const movedMs = wasMs - this.#baseMs;
    const move = (match: Match | null) => match && { ...match, offsetMs: match.offsetMs + movedMs };
    this.#fine = move(this.#fine);
    this.#candidate = move(this.#candidate);
  }

  #compare(sampleMs: number, frameMs: number): Clocks {
    const hasOwn = frameMs < FRAME_MS.least || frameMs > FRAME_MS.most;
    if (!hasOwn && !this.#skew.differs) return "ours";
    if (Math.abs(sampleMs - frameMs) < (this.#clocks === "shared" ? STILL_SHARED_MS : SHARED_MS)) return "shared";
    return hasOwn ? "apart" : "ours";
  }

  noteMatch({ offsetMs, errorMs }: Match): void {
    const found = { offsetMs: offsetMs - this.#baseMs, errorMs };
    const agrees = this.#candidate !== null && Math.abs(found.offsetMs - this.#candidate.offsetMs) < AGREE_MS;
    this.#candidate = found;
    if (!agrees) return;
    const last = this.#fine;
    const isFar = last === null || Math.abs(found.offsetMs - last.offsetMs) > AGREE_MS;
    this.#fine = isFar ? found : { offsetMs: last.offsetMs + TRUST * (found.offsetMs - last.offsetMs), errorMs };
  }

  /** The offset at the time of a frame. */
  read(frameMs: number): { readonly offsetMs: number; readonly errorMs: number } {
    if (this.#setting !== "auto") return { offsetMs: this.#setting, errorMs: ERRORS.set };
    const target = this.targetMs;
    const passed = this.#lastMs === null ? 0 : Math.max(0, frameMs - this.#lastMs) / 1000;
    this.#lastMs = frameMs;
    const applied = this.#appliedMs ?? target;
    const away = target - applied;
    const most = FOLLOW * passed;
    this.#appliedMs = Math.abs(away) > JUMP_MS ? target : applied + Math.min(Math.max(away, -most), most);
    return { offsetMs: this.#appliedMs, errorMs: this.#errorMs };
  }

  get #errorMs(): number {
    const errorMs = this.#fine?.errorMs ?? this.#arrivalErrorMs;
    return this.#knownErrorMs !== null && this.#fine === null ? errorMs : Math.max(errorMs, ERRORS.set);
  }

  get #arrivalErrorMs(): number {
    if (this.#knownErrorMs !== null) return this.#knownErrorMs;
    const skewMs = this.#skew.measuredMs;
    if (skewMs === null) return ERRORS.file;
    // The difference is too small to be corrected.
    return this.#clocks === "ours" && !this.#differs ? Math.max(ERRORS.arrival, Math.abs(skewMs)) : ERRORS.arrival;
  }

  /** The value that the offset follows. */
  get targetMs(): number {
    return this.#setting === "auto" ? this.#baseMs + (this.#fine?.offsetMs ?? 0) : this.#setting;
  }
}

const WINDOW_MS = 60_000;
/** Arrivals within this time count once, by the fastest: messages stored by an offline broker arrive all at once. */
const MOMENT_MS = 250;
/** Fast messages are the best estimate, but a single outlier must not decide. */
const QUANTILE = 0.1;
/** Clocks that differ by less count as equal: messages take time too. */
const DIFFERENT_MS = 1500;
/** Hysteresis of `DIFFERENT_MS`. */
const SAME_MS = 1000;

/** Difference between the sender's clock and the local one, by the arrival of its messages or frames. */
export class ClockSkew {
  #moments: { readonly receivedMs: number; readonly skewMs: number }[] = [];
  differs = false;
  #skewMs = 0;

  note(timeMs: number, receivedMs: number): void {
    const skewMs = receivedMs - timeMs;
    const last = this.#moments.at(-1);
    if (last === undefined || Math.abs(receivedMs - last.receivedMs) >= MOMENT_MS) {
      this.#moments = this.#moments.filter((one) => receivedMs - one.receivedMs <= WINDOW_MS);
      this.#moments.push({ receivedMs, skewMs });
    } else if (skewMs < last.skewMs) this.#moments[this.#moments.length - 1] = { ...last, skewMs };
    else return;
    const skews = this.#moments.map((one) => one.skewMs).sort((a, b) => a - b);
    this.#skewMs = skews[Math.floor(QUANTILE * skews.length)] ?? 0;
    this.differs = Math.abs(this.#skewMs) > (this.differs ? SAME_MS : DIFFERENT_MS);
  }

  /** Offset to add to the sender's times. */
  get offsetMs(): number {
    return this.differs ? this.#skewMs : 0;
  }

  /** Measured difference; null before the first arrival. */
  get measuredMs(): number | null {
    return this.#moments.length === 0 ? null : this.#skewMs;
  }

  restart(): void {
    this.#moments = [];
    this.differs = false;
    this.#skewMs = 0;
  }
}
