import { ServiceError } from "../service-error.ts";

/** Feeds and events that are open: up to a number for each process, and for each key. */
export class Viewers {
  readonly #perProcess: number;
  readonly #perKey: number;
  readonly #counts = new Map<string, number>();

  constructor(perProcess: number, perKey: number) {
    this.#perProcess = perProcess;
    this.#perKey = perKey;
  }

  /** Returns how to leave; leaving twice counts once. */
  enter(processUuid: string, userUuid: string): () => void {
    this.#expectRoom(processUuid, this.#perProcess, "of this process");
    this.#expectRoom(userUuid, this.#perKey, "with this key");
    this.#add(processUuid, 1);
    this.#add(userUuid, 1);
    let isHere = true;
    return () => {
      if (!isHere) return;
      isHere = false;
      this.#add(processUuid, -1);
      this.#add(userUuid, -1);
    };
  }

  #expectRoom(uuid: string, most: number, whose: string): void {
    const count = this.#counts.get(uuid) ?? 0;
    if (count < most) return;
    const detail = `${count} feeds and event streams ${whose} are open; the limit is ${most}. Close one and try again.`;
    throw new ServiceError("viewers_limit_reached", { detail });
  }

  #add(uuid: string, change: number): void {
    const count = (this.#counts.get(uuid) ?? 0) + change;
    if (count === 0) this.#counts.delete(uuid);
    else this.#counts.set(uuid, count);
  }
}
