/**
 * GStreamer's registry from a file with one line for each factory: its summary, a tab, and all of it, both as JSON. A
 * factory is read when it is first used: all of them would take 15 MB in every thread, and a tenth of the processor time
 * of a start. The file stays open, and may be removed meanwhile.
 */
import { fstatSync, readSync } from "node:fs";
import type { FactoryInfo, FactorySummary, Registry } from "../../schemas/registry.ts";

const [TAB, NEWLINE] = [0x09, 0x0a];

/** The line of a factory. JSON contains no tab. */
export function writeFactory(factory: FactoryInfo): string {
  const { name, longName, about, klass, plugin, rank } = factory;
  const summary: FactorySummary = { name, longName, about, klass, plugin, rank };
  return `${JSON.stringify(summary)}\t${JSON.stringify(factory)}\n`;
}

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
      const tab = bytes.indexOf(TAB, start);
      const end = bytes.indexOf(NEWLINE, tab);
      if (tab < 0 || end < 0) throw new Error("the description of GStreamer's elements is incomplete");
      const summary = parse<FactorySummary>(bytes.subarray(start, tab));
      this.#entries.set(summary.name, { start: tab + 1, end, summary });
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
    const factory = parse<FactoryInfo>(this.#read(entry.start, entry.end));
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

const parse = <T>(bytes: Buffer): T => JSON.parse(bytes.toString()) as T;
