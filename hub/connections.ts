/**
 * How many connections there may be at once to RTSP and RTMP together, and from one address. Some are kept for this machine
 * itself: a crowd of strangers cannot keep its processes from their streams.
 */
import { originOf, plainAddress } from "../schemas/client-origin.ts";

export interface ConnectionLimits {
  readonly connections: number;
  readonly connectionsPerAddress: number;
}

/** Of all, that only connections from this machine may use. */
const OWN_SHARE = 0.1;

export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #byAddress = new Map<string, number>();
  #count = 0;
  #refused = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#count;
  }

  /** Connections and requests that were not let in, since the start. */
  get refused(): number {
    return this.#refused;
  }

  refuse(): void {
    this.#refused++;
  }

  /** To be called when the connection is gone. Null: there are too many, close it. */
  admit(address: string | undefined): (() => void) | null {
    const origin = originOf(address ?? "");
    const here = this.#byAddress.get(origin) ?? 0;
    const { connections, connectionsPerAddress } = this.#limits;
    const most = isLoopback(address ?? "") ? connections : connections - Math.floor(connections * OWN_SHARE);
    if (this.#count >= most || here >= connectionsPerAddress) {
      this.#refused++;
      return null;
    }
    this.#count++;
    this.#byAddress.set(origin, here + 1);
    let isHere = true;
    return () => {
      if (!isHere) return;
      isHere = false;
      this.#release(origin);
    };
  }

  #release(origin: string): void {
    this.#count--;
    const left = (this.#byAddress.get(origin) ?? 1) - 1;
    if (left === 0) this.#byAddress.delete(origin);
    else this.#byAddress.set(origin, left);
  }
}

function isLoopback(address: string): boolean {
  const plain = plainAddress(address);
  return plain === "::1" || plain.startsWith("127.");
}
