/** Who asks, and by which name we are reached: `X-Forwarded-*` counts only when a trusted proxy says it. */
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import { plainAddress } from "../../schemas/client-origin.ts";

const HOST = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

export interface Whereabouts {
  readonly address: string;
  readonly publicUrl: string;
}

export class ClientAddresses {
  readonly #trusted: BlockList;
  readonly #publicUrl: string | null;

  /** Throws on an entry that is neither an address nor a network. */
  constructor(trustedProxies: readonly string[], publicUrl: string | null) {
    this.#trusted = readNetworks(trustedProxies);
    this.#publicUrl = publicUrl?.replace(/(?<!\/)\/+$/, "") ?? null;
  }

  find(incoming: IncomingMessage): Whereabouts {
    const peer = plainAddress(incoming.socket.remoteAddress ?? "");
    const isProxied = this.isTrusted(peer);
    return {
      address: isProxied ? this.#findClient(peer, incoming) : peer,
      publicUrl: this.#publicUrl ?? findOrigin(incoming, isProxied),
    };
  }

  /** From the right: what stands left of the first address that we do not trust could have been written by anybody. */
  #findClient(peer: string, incoming: IncomingMessage): string {
    let client = peer;
    for (const entry of headerOf(incoming, "x-forwarded-for").split(",").reverse()) {
      const address = plainAddress(entry.trim());
      if (isIP(address) === 0) break;
      client = address;
      if (!this.isTrusted(address)) break;
    }
    return client;
  }

  isTrusted(address: string): boolean {
    const plain = plainAddress(address);
    const family = isIP(plain);
    return family !== 0 && this.#trusted.check(plain, family === 6 ? "ipv6" : "ipv4");
  }
}

function findOrigin(incoming: IncomingMessage, isProxied: boolean): string {
  const forwarded = (name: string) => (isProxied ? firstOf(headerOf(incoming, name)) : "");
  const isTls = "encrypted" in incoming.socket && incoming.socket.encrypted === true;
  const told = forwarded("x-forwarded-proto");
  const scheme = told === "http" || told === "https" ? told : isTls ? "https" : "http";
  const host = [forwarded("x-forwarded-host"), incoming.headers.host ?? ""].find((name) => HOST.test(name));
  return `${scheme}://${host ?? localHost(incoming)}`;
}

function localHost({ socket: { localAddress = "localhost", localPort = 80 } }: IncomingMessage): string {
  const address = plainAddress(localAddress);
  return `${isIP(address) === 6 ? `[${address}]` : address}:${localPort}`;
}

const firstOf = (list: string): string => list.split(",")[0]?.trim() ?? "";
const headerOf = ({ headers }: IncomingMessage, name: string): string => {
  const value = headers[name];
  return Array.isArray(value) ? value.join(",") : (value ?? "");
};

function readNetworks(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", prefix] = entry.split("/");
    const family = isIP(address);
    const most = family === 6 ? 128 : 32;
    const bits = prefix === undefined ? most : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1;
    if (family === 0 || bits < 0 || bits > most)
      throw new Error(
        `http.trusted_proxies has "${entry}"; expected an address or a network, such as 10.0.0.1 or 10.0.0.0/8`,
      );
    list.addSubnet(address, bits, family === 6 ? "ipv6" : "ipv4");
  }
  return list;
}
