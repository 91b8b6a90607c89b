import type { Every } from "./schedule.ts";

/** Of the definition. Live they cover two seconds at 60 frames a second: what a slow model on a busy machine takes. */
export const MAX_IN_FLIGHT = 128;

/**
 * Frames taken at once. At pace `fast` only as many as keep the worker busy, since each of them is a whole picture in
 * memory: those in slots, those that pass between them, and one that waits for a slot.
 */
export const chooseInFlight = (live: boolean, every: Every, slots: number): number =>
  live ? MAX_IN_FLIGHT : Math.min(MAX_IN_FLIGHT, slots * (every === "auto" ? 1 : every) + 1);

/** Live, frames wait for an inference that hangs: it is given up long before `limitMs` where inferences are short. */
const MIN_MS = 1000;
const TIMES_AS_LONG = 10;

export const limitInference = (limitMs: number, usualMs: number): number =>
  Math.min(limitMs, Math.max(MIN_MS, TIMES_AS_LONG * usualMs));

/** Loading a model on a machine that is busy. */
const LOAD_LIMIT_MS = 20_000;
const TRIALS = 2;

/** For a worker to load its model and to try it. */
export const limitStart = (limitMs: number): number => LOAD_LIMIT_MS + TRIALS * limitMs;
