/** How many connections there may be at once to RTSP and RTMP together, and from one address. */
import { isIPv6 } from "node:net";

export interface ConnectionLimits {
  readonly connections: number;
  readonly connectionsPerAddress: number;
}

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
    const origin = plainAddress(address ?? "");
    const here = this.#byAddress.get(origin) ?? 0;
    if (this.#count >= this.#limits.connections || here >= this.#limits.connectionsPerAddress) {
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

/** One for all that one host can have: an IPv4 address also when it comes as IPv6, and the first 64 bits of IPv6. */
export function plainAddress(address: string): string {
  const plain = address.replace(/%.*$/, "").toLowerCase();
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain)?.[1];
  if (mapped !== undefined) return mapped;
  return isIPv6(plain) ? networkOf(plain) : plain;
}

function networkOf(address: string): string {
  const [front = "", back] = address.split("::");
  const groups = front === "" ? [] : front.split(":");
  if (back !== undefined) {
    const after = back === "" ? [] : back.split(":");
    const missing = 8 - groups.length - after.length - (back.includes(".") ? 1 : 0);
    groups.push(...Array<string>(Math.max(missing, 0)).fill("0"), ...after);
  }
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
