/** What it costs to write logic in a graph instead of in an element: the same work in both ways, in the same run. */
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable } from "../../cli/text.ts";
import { median, readRounds, runTypeScript, spreadOf } from "./harness.ts";

interface Measured {
  /** Microseconds per frame. */
  readonly expression: number;
  readonly typescript: number;
}

interface Line {
  readonly name: string;
  readonly program: URL;
  /** Highest ratio. */
  readonly limit: number;
}

const LINES: readonly Line[] = [
  {
    name: "filter, 20 objects",
    program: new URL("authoring/filter.ts", import.meta.url),
    limit: 4,
  },
];

export default async function authoring(args: readonly string[], terminal: Terminal): Promise<number> {
  const rounds = readRounds(args);
  const rows: string[][] = [];
  let isWithin = true;
  for (const { name, program, limit } of LINES) {
    const measured: Measured[] = [];
    for (let round = 1; round <= rounds; round++) {
      measured.push(await runTypeScript<Measured>(program));
      terminal.say(`${name} round ${round} of ${rounds}`);
    }
    const ratios = measured.map(({ expression, typescript }) => expression / typescript);
    const ratio = median(ratios);
    isWithin &&= ratio <= limit;
    rows.push([
      name,
      median(measured.map(({ expression }) => expression)).toFixed(1),
      median(measured.map(({ typescript }) => typescript)).toFixed(1),
      ratio.toFixed(2),
      spreadOf(ratios, 2),
      `${ratio <= limit ? "ok" : "above"} (≤ ${limit})`,
    ]);
  }
  const heads = ["per frame", "in the graph, µs", "in TypeScript, µs", "ratio", "range", "limit"];
  await terminal.print(alignTable(heads, rows, terminal.paintOut, (column) => column < 1));
  return isWithin ? 0 : 1;
}
