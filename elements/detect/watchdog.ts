/**
 * Watches one call of another thread. Distinguishes a thread that hangs from one that other programs keep from running: where the
 * kernel shows what a thread does, time in which it waits for a processor does not count.
 */
import { readFileSync } from "node:fs";

const TICKS = 8;
/** Ticks in the shortest time that counts as a hang. */
const BLOCKED_TICKS = 4;
/** Limits that may pass while its thread waits for a processor. */
const STARVED_LIMITS = 4;

/** Of a thread, from the kernel. */
interface Activity {
  /** On a processor, or waiting for one. */
  readonly isRunnable: boolean;
  /** Neither that, nor waiting for a disk. */
  readonly isBlocked: boolean;
  /** On a processor, since its start. */
  readonly ranMs: number;
}

/** `task`: its folder in /proc. Null for an ended thread, and where the kernel does not show it. */
export function readActivity(task: string): Activity | null {
  try {
    const stat = readFileSync(`${task}/stat`, "latin1");
    const state = stat.charAt(stat.lastIndexOf(")") + 2);
    const [ranNs] = readFileSync(`${task}/schedstat`, "latin1").split(" ");
    return { isRunnable: state === "R", isBlocked: state !== "R" && state !== "D", ranMs: Number(ranNs) / 1e6 };
  } catch {
    return null;
  }
}

interface WatchOrder {
  /** Of the call, without the time in which its thread waits for a processor. */
  readonly limitMs: number;
  /** In which its thread neither runs nor waits for a processor. */
  readonly blockedMs?: number;
  readonly activity?: () => Activity | null;
}

interface WatchListener {
  /** It hangs. Called once, with the reason. */
  late(reason: string): void;
  /** Four times the limit have passed, for lack of a processor. Called once; `late` may follow. */
  starved?(): void;
}

/**
 * Counts ticks instead of reading a clock: after a suspend of the machine or process, ticks are missing and no false alarm
 * is raised.
 */
export class Watchdog {
  readonly #listener: WatchListener;
  #timer: NodeJS.Timeout | undefined;

  constructor(listener: WatchListener) {
    this.#listener = listener;
  }

  /** Restarts the limits. */
  arm(order: WatchOrder): void {
    this.disarm();
    this.#wait(new Watch(order));
  }

  disarm(): void {
    clearTimeout(this.#timer);
  }

  #wait(watch: Watch): void {
    this.#timer = setTimeout(() => {
      const outcome = watch.tick();
      if (outcome === null || outcome === "starved") this.#wait(watch);
      if (outcome === "starved") this.#listener.starved?.();
      else if (outcome !== null) this.#listener.late(outcome);
    }, watch.tickMs);
  }
}

class Watch {
  readonly tickMs: number;
  readonly #order: WatchOrder;
  #passedMs = 0;
  #countedMs = 0;
  #blockedMs = 0;
  #ranMs: number | null = null;
  #isStarved = false;

  constructor(order: WatchOrder) {
    this.#order = order;
    this.tickMs = Math.min(order.limitMs / TICKS, (order.blockedMs ?? Number.POSITIVE_INFINITY) / BLOCKED_TICKS);
    this.#ranMs = order.activity?.()?.ranMs ?? null;
  }

  /** The reason of a hang, `starved` once, or null. */
  tick(): string | null {
    const { limitMs, blockedMs = Number.POSITIVE_INFINITY, activity } = this.#order;
    const now = activity?.() ?? null;
    const ranMs = now === null || this.#ranMs === null ? this.tickMs : now.ranMs - this.#ranMs;
    this.#ranMs = now?.ranMs ?? null;
    this.#passedMs += this.tickMs;
    this.#countedMs += now?.isRunnable ? Math.min(ranMs, this.tickMs) : this.tickMs;
    this.#blockedMs = now?.isBlocked && ranMs === 0 ? this.#blockedMs + this.tickMs : 0;
    if (this.#blockedMs >= blockedMs - ROUNDING_MS) return `its thread was blocked for ${Math.round(blockedMs)} ms`;
    if (this.#countedMs >= limitMs - ROUNDING_MS) return `no result within ${Math.round(limitMs)} ms`;
    if (this.#isStarved || this.#passedMs < STARVED_LIMITS * limitMs - ROUNDING_MS) return null;
    this.#isStarved = true;
    return "starved";
  }
}

/** Of sums of ticks. */
const ROUNDING_MS = 1e-6;
