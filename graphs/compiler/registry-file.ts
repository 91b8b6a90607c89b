/**
 * GStreamer's registry from a file with one line of JSON for each factory. A factory is read when it is first used: all
 * of them would take 15 MB in every thread. The file stays open, and may be removed meanwhile.
 */
import { fstatSync, readSync } from "node:fs";
import type { FactoryInfo, FactorySummary, Registry } from "../../schemas/registry.ts";

const NEWLINE = 0x0a;

interface Entry {
  readonly start: number;
  readonly end: number;
  readonly summary: FactorySummary;
}

export class RegistryFile implements Registry {
  /** Valid in all threads of the process. */
  readonly fd: number;
  readonly #entries = new Map<string, Entry>();
  readonly #used = new Map<string, FactoryInfo>();

  constructor(fd: number) {
    this.fd = fd;
    const bytes = this.#read(0, fstatSync(fd).size);
    for (let start = 0; start < bytes.length; ) {
      const found = bytes.indexOf(NEWLINE, start);
      const end = found < 0 ? bytes.length : found;
      const factory = parse(bytes.subarray(start, end));
      if (factory !== null) {
        const { name, longName, about, klass, plugin, rank } = factory;
        this.#entries.set(name, { start, end, summary: { name, longName, about, klass, plugin, rank } });
      }
      start = end + 1;
    }
  }

  list(): readonly FactorySummary[] {
    return [...this.#entries.values()].map(({ summary }) => summary);
  }

  get(name: string): FactoryInfo | undefined {
    const used = this.#used.get(name);
    const entry = this.#entries.get(name);
    if (used !== undefined || entry === undefined) return used;
    const factory = parse(this.#read(entry.start, entry.end));
    if (factory === null) return undefined;
    this.#used.set(name, factory);
    return factory;
  }

  #read(start: number, end: number): Buffer {
    const bytes = Buffer.allocUnsafeSlow(end - start);
    for (let read = 0; read < bytes.length; ) {
      const more = readSync(this.fd, bytes, read, bytes.length - read, start + read);
      if (more === 0) throw new Error("the description of GStreamer's elements was truncated while it was read");
      read += more;
    }
    return bytes;
  }
}

/** Null for a factory whose plugin cannot be loaded. */
const parse = (line: Buffer): FactoryInfo | null =>
  line.length === 0 ? null : (JSON.parse(line.toString()) as FactoryInfo | null);
