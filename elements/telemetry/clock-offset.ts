/** What is added to the times of samples to get the time of the video: slowly followed, so that nothing jumps without need. */
import type { Match } from "./turn-match.ts";

/**
 * One standard deviation each, in milliseconds. Samples of a file begin with the video. What is received and live is known
 * by arrivals alone until the picture has matched: frames without a clock of their own are stamped when they come, late.
 */
const ERRORS = { set: 10, file: 40, arrival: 400 } as const;
/** A live frame is here so long after it was taken; one that is earlier or later has been stamped by a clock of its own. */
const FRAME_MS = { least: -500, most: 10_000 } as const;
/** Samples and frames that are as late as each other by this come from one clock, ours or not. */
const SHARED_MS = 1500;
/** Once they do, by this. */
const STILL_SHARED_MS = 2000;
/** What is that far off helps nobody by being followed slowly. */
const JUMP_MS = 400;
/** Milliseconds a second of video. */
const FOLLOW = 50;
/** Two matches in a row that differ by less are believed. */
const AGREE_MS = 80;
/** Share of a new match. */
const TRUST = 0.25;

/** `ours`: the video's clock is ours; `shared`: it is the sender's; `apart`: neither. */
type Clocks = "ours" | "shared" | "apart";

export class ClockOffset {
  readonly #skew = new ClockSkew();
  readonly #videoSkew = new ClockSkew();
  #clocks: Clocks = "ours";
  #differs = false;
  #baseMs = 0;
  #setting: "auto" | number;
  /** By matches, besides what arrivals tell. */
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
    this.#weigh();
  }

  /** The video may go on by another clock: after a pause or a new connection. */
  restartVideo(): void {
    this.#videoSkew.restart();
  }

  noteArrival(timeMs: number, receivedMs: number): void {
    this.#skew.note(timeMs, receivedMs);
    this.#weigh();
  }

  /** Of live video: when a frame was taken by its own word, and when it came here by our clock. */
  noteFrame(frameMs: number, nowMs: number): void {
    this.#videoSkew.note(frameMs, nowMs);
    this.#weigh();
  }

  /** Which clocks there are, and what arrivals alone tell of the offset. What matches have found stays where it is. */
  #weigh(): void {
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
    return { offsetMs: this.#appliedMs, errorMs: Math.max(this.#fine?.errorMs ?? this.#arrivalErrorMs, ERRORS.set) };
  }

  get #arrivalErrorMs(): number {
    const skewMs = this.#skew.measuredMs;
    if (skewMs === null) return ERRORS.file;
    // A clock that is off by so little that it was left alone.
    return this.#clocks === "ours" && !this.#differs ? Math.max(ERRORS.arrival, Math.abs(skewMs)) : ERRORS.arrival;
  }

  /** Where the offset is going to. */
  get targetMs(): number {
    return this.#setting === "auto" ? this.#baseMs + (this.#fine?.offsetMs ?? 0) : this.#setting;
  }
}

/** How far the sender's clock is from ours, as far as the arrival of its messages (or frames) tells. */
const WINDOW_MS = 60_000;
/** What comes within this counts once, by the quickest: what was stored while a broker was away comes all at once. */
const MOMENT_MS = 250;
/** Messages that came quickly tell it best, and one that came before it was sent must not decide alone. */
const QUANTILE = 0.1;
/** Clocks that differ by less are taken for the same: the way of a message takes time too. */
const DIFFERENT_MS = 1500;
/** Once they differ they do so until they agree by this. */
const SAME_MS = 1000;

export class ClockSkew {
  #moments: { readonly receivedMs: number; readonly skewMs: number }[] = [];
  #differs = false;
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
    this.#differs = Math.abs(this.#skewMs) > (this.#differs ? SAME_MS : DIFFERENT_MS);
  }

  /** To be added to its times. */
  get offsetMs(): number {
    return this.#differs ? this.#skewMs : 0;
  }

  /** As it was measured; null before anything has come. */
  get measuredMs(): number | null {
    return this.#moments.length === 0 ? null : this.#skewMs;
  }

  get differs(): boolean {
    return this.#differs;
  }

  restart(): void {
    this.#moments = [];
    this.#differs = false;
    this.#skewMs = 0;
  }
}
