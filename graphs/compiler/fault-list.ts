import type { Fault, FaultCode } from "./fault.ts";
import type { Position } from "./plan.ts";

export interface Hints {
  readonly expected?: string | undefined;
  readonly suggestion?: string | undefined;
}

/** Faults found so far. Handed out in text order, each once: files in the order in which they were first read. */
export class FaultList {
  readonly #faults = new Map<string, Fault>();
  readonly #files: (string | null)[] = [];

  constructor(file: string | null) {
    this.#files.push(file);
  }

  add(code: FaultCode, at: Position, message: string, hints: Hints = {}): void {
    if (!this.#files.includes(at.file)) this.#files.push(at.file);
    const fault: Fault = {
      code,
      at,
      message,
      ...(hints.expected === undefined ? {} : { expected: hints.expected }),
      ...(hints.suggestion === undefined ? {} : { suggestion: hints.suggestion }),
    };
    const key = `${at.file}\n${at.line}:${at.column} ${code} ${message}`;
    if (!this.#faults.has(key)) this.#faults.set(key, fault);
  }

  addAll(faults: readonly Fault[]): void {
    for (const fault of faults) this.add(fault.code, fault.at, fault.message, fault);
  }

  get size(): number {
    return this.#faults.size;
  }

  sorted(): readonly Fault[] {
    const fileOrder = (fault: Fault) => this.#files.indexOf(fault.at.file);
    return [...this.#faults.values()].sort(
      (a, b) => fileOrder(a) - fileOrder(b) || a.at.line - b.at.line || a.at.column - b.at.column,
    );
  }
}
