/** What this node is and has: its address for the others, its capacity, and what is in use. */
import { readFile } from "node:fs/promises";
import { availableParallelism, cpus, freemem, networkInterfaces, totalmem } from "node:os";
import type { Config } from "../../schemas/config.ts";
import type { NodeFacts, NodeLoad } from "../store/nodes.ts";

const WILDCARDS: readonly string[] = ["0.0.0.0", "::", "[::]"];

/** The address at which other machines reach what listens on `host`. */
export function reachableHost(host: string): string {
  if (!WILDCARDS.includes(host)) return host.includes(":") ? `[${host.replace(/^\[|\]$/g, "")}]` : host;
  const found = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === "IPv4");
  return found?.address ?? "127.0.0.1";
}

/** Where the other nodes reach the API of this one. */
export function nodeUrl({ http, cluster }: Pick<Config, "http" | "cluster">, httpPort: number): string {
  const scheme = http.tls_cert === null ? "http" : "https";
  return cluster.url?.replace(/(?<!\/)\/+$/, "") ?? `${scheme}://${reachableHost(http.host)}:${httpPort}`;
}

/** `["site=north"]`: `{ site: "north" }`. Throws for anything else. */
export function readLabels(texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, value] = /^([A-Za-z0-9_.-]{1,64})=(.{0,128})$/.exec(text) ?? [];
      if (name === undefined || value === undefined)
        throw new Error(`cluster.labels: "${text}" is not a label; expected name=value`);
      return [name, value];
    }),
  );
}

type Capacity = Pick<NodeFacts, "labels" | "cores" | "memoryBytes" | "maxProcesses">;

export const readCapacity = ({ labels, cores, memory_bytes, processes }: Config["cluster"]): Capacity => ({
  labels: readLabels(labels),
  cores: cores === 0 ? null : cores,
  memoryBytes: memory_bytes === 0 ? null : memory_bytes,
  maxProcesses: processes === 0 ? null : processes,
});

/** Of the machine, or of the container where one limits the service: use since the last call. */
export class LoadMeter {
  #last = readCpuTimes();

  async read(): Promise<NodeLoad> {
    const now = readCpuTimes();
    const totalMs = now.totalMs - this.#last.totalMs;
    const busyMs = now.busyMs - this.#last.busyMs;
    this.#last = now;
    const cores = totalMs === 0 ? 0 : (busyMs / totalMs) * availableParallelism();
    return { cores: Math.round(cores * 100) / 100, memoryBytes: (await readCgroupMemory()) ?? totalmem() - freemem() };
  }
}

function readCpuTimes(): { readonly totalMs: number; readonly busyMs: number } {
  let totalMs = 0;
  let idleMs = 0;
  for (const { times } of cpus()) {
    totalMs += times.user + times.nice + times.sys + times.irq + times.idle;
    idleMs += times.idle;
  }
  return { totalMs, busyMs: totalMs - idleMs };
}

/** Null outside of a container with a memory limit. */
async function readCgroupMemory(): Promise<number | null> {
  const read = (name: string) => readFile(`/sys/fs/cgroup/${name}`, "utf8").catch(() => "");
  if (!/^\d+$/.test((await read("memory.max")).trim())) return null;
  const bytes = Number((await read("memory.current")).trim());
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : null;
}
