import type { Every } from "./schedule.ts";

/** In the definition. Live this covers two seconds at 60 fps: the inference time of a slow model on a busy machine. */
export const MAX_IN_FLIGHT = 128;

/**
 * Frames processed concurrently. At pace `fast` only as many as keep the worker busy, since each holds a whole image in
 * memory: frames in slots, frames between them, and one that waits for a slot.
 */
export const chooseInFlight = (live: boolean, every: Every, slots: number): number =>
  live ? MAX_IN_FLIGHT : Math.min(MAX_IN_FLIGHT, slots * (typeof every === "number" ? every : 1) + 1);

/** Live, frames wait for an inference that hangs: where inference is fast, it is cancelled long before `limitMs`. */
const MIN_MS = 500;
const USUAL_FACTOR = 10;

export const limitInference = (limitMs: number, usualMs: number): number =>
  Math.min(limitMs, Math.max(MIN_MS, USUAL_FACTOR * usualMs));

/** In which a thread that should compute does not run, although it could. */
const BLOCKED_MS = 300;

/** One thread on the CPU computes without a pause; others wait for a device, or for each other. */
export const limitBlocked = (limitMs: number, usualMs: number, computesAlone: boolean): number =>
  computesAlone ? Math.min(limitMs, BLOCKED_MS) : limitInference(limitMs, usualMs);

/** For loading a model on a busy machine. */
const LOAD_LIMIT_MS = 20_000;
const TRIALS = 2;

/** For a worker to load its model and run the trials. */
export const limitStart = (limitMs: number): number => LOAD_LIMIT_MS + TRIALS * limitMs;
