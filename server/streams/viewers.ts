import { ServiceError } from "../service-error.ts";

/** Who watches: so many at most of one process, feeds and events together. */
export class Viewers {
  readonly #most: number;
  readonly #byProcess = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Returns how to leave; leaving twice counts once. */
  enter(processUuid: string): () => void {
    const count = this.#byProcess.get(processUuid) ?? 0;
    if (count >= this.#most) {
      const detail = `${count} viewers watch this process, and no more than ${this.#most} may. Close one and try again.`;
      throw new ServiceError("viewers_limit_reached", { detail });
    }
    this.#byProcess.set(processUuid, count + 1);
    let isHere = true;
    return () => {
      if (!isHere) return;
      isHere = false;
      const left = (this.#byProcess.get(processUuid) ?? 1) - 1;
      if (left === 0) this.#byProcess.delete(processUuid);
      else this.#byProcess.set(processUuid, left);
    };
  }
}
