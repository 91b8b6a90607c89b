/** Lets calls of a handler through, or holds them back while the handler is replaced. */
import { withTimeout } from "./limits.ts";

export class CallGate {
  /** Asynchronous calls that have begun and not settled. */
  #pending = 0;
  #held: { readonly opened: Promise<void>; open(): void } | null = null;
  #onIdle: () => void = () => {};

  /** At once and synchronously, unless calls are held; those run later, in their order. */
  run<T>(work: () => T): T {
    // A call that waits is a promise, as that of an asynchronous handler is.
    if (this.#held !== null) return this.#held.opened.then(() => this.run(work)) as T;
    const result = work();
    if (isPromise(result)) {
      this.#pending += 1;
      result.then(this.#settled, this.#settled);
    }
    return result;
  }

  /** Resolves when no call is pending, and no further one begins before `open`. Rejects after the limit. */
  async hold(limitMs: number): Promise<void> {
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    this.#held = { opened, open };
    if (this.#pending === 0) return;
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    await withTimeout(limitMs, "frames in flight did not settle", idle);
  }

  open(): void {
    const held = this.#held;
    this.#held = null;
    held?.open();
  }

  readonly #settled = (): void => {
    this.#pending -= 1;
    if (this.#pending === 0) this.#onIdle();
  };
}

export const isPromise = (value: unknown): value is Promise<unknown> =>
  typeof value === "object" && value !== null && "then" in value;
