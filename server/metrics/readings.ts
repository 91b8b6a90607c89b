/**
 * Numbers that are counted elsewhere and told by name. Those whose names end in `_total` only grow, and Prometheus is told
 * that they are counters: it knows then what a restart means.
 */
import { Counter, Gauge, type Registry } from "prom-client";

/** Null: there is nothing to tell. */
export type Row<T> = readonly [name: string, help: string, read: (from: T) => number | null];

type Labels = Readonly<Record<string, string>>;

export class Readings<T> {
  readonly #rows: readonly (readonly [Gauge | Counter, Row<T>[2]])[];

  constructor(
    prefix: string,
    rows: readonly Row<T>[],
    options: { readonly labelNames: string[]; readonly registers: Registry[] },
  ) {
    this.#rows = rows.map(([name, help, read]) => {
      const Metric = name.endsWith("_total") ? Counter : Gauge;
      return [new Metric({ name: `${prefix}${name}`, help, ...options }), read];
    });
  }

  observe(from: T, labels: Labels): void {
    for (const [metric, read] of this.#rows) {
      const value = read(from);
      if (value === null) continue;
      metric.remove(labels);
      metric.inc(labels, value);
    }
  }

  forget(labels: Labels): void {
    for (const [metric] of this.#rows) metric.remove(labels);
  }
}
