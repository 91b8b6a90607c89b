/**
 * What authors of graphs and elements wait for: logic in a graph instead of in an element, a saved element in a running
 * graph, and the compilation of a graph. Each beside something comparable, in the same run.
 */
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable } from "../../cli/text.ts";
import { MAX_NODES } from "../../graphs/compiler/limits.ts";
import { median, readRounds, runTypeScript, spreadOf } from "./harness.ts";

interface Measured {
  readonly measured: number;
  readonly peer: number;
}

interface Line {
  readonly name: string;
  /** What it is compared with. */
  readonly peer: string;
  readonly unit: "µs" | "ms";
  readonly program: URL;
  readonly args: readonly string[];
  /** Highest ratio. */
  readonly limit: number;
}

const programOf = (name: string): URL => new URL(`authoring/${name}.ts`, import.meta.url);

const LINES: readonly Line[] = [
  {
    ...{ name: "filter, 20 objects, per frame", peer: "the same in TypeScript", unit: "µs" },
    ...{ program: programOf("filter"), args: [], limit: 4 },
  },
  {
    ...{ name: "save of an element to its first frame", peer: "restart of the run", unit: "ms" },
    ...{ program: programOf("reload"), args: [], limit: 0.8 },
  },
  {
    ...{ name: "compile the largest graph of the repository", peer: "its YAML alone", unit: "ms" },
    ...{ program: programOf("compile"), args: ["repository"], limit: 15 },
  },
  {
    ...{ name: `compile a graph of ${MAX_NODES} nodes`, peer: "its YAML alone", unit: "ms" },
    ...{ program: programOf("compile"), args: ["limits"], limit: 15 },
  },
];

export default async function authoring(args: readonly string[], terminal: Terminal): Promise<number> {
  const rounds = readRounds(args);
  const results = new Map<Line, Measured[]>(LINES.map((line) => [line, []]));
  for (let round = 1; round <= rounds; round++) {
    for (const [line, measured] of results) measured.push(await runTypeScript<Measured>(line.program, ...line.args));
    terminal.say(`round ${round} of ${rounds}`);
  }
  let isWithin = true;
  const rows: string[][] = [];
  for (const [{ name, peer, unit, limit }, measured] of results) {
    const show = (values: readonly number[]): string => `${median(values).toFixed(1)} ${unit}`;
    const ratios = measured.map((one) => one.measured / one.peer);
    const ratio = median(ratios);
    isWithin &&= ratio <= limit;
    rows.push([
      ...[name, show(measured.map((one) => one.measured)), show(measured.map((one) => one.peer)), peer],
      ...[ratio.toFixed(2), spreadOf(ratios, 2), `${ratio <= limit ? "ok" : "above"} (≤ ${limit})`],
    ]);
  }
  const heads = ["what", "median", "compared", "with", "ratio", "range", "limit"];
  await terminal.print(alignTable(heads, rows, terminal.paintOut, (column) => column === 0 || column === 3));
  return isWithin ? 0 : 1;
}
