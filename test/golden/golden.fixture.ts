/** Recordings of the graph `detect` in this process, held against the goldens that are committed. */
import { existsSync } from "node:fs";
import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { compareGoldens, type StreamComparison } from "../../cli/golden/compare.ts";
import type { Golden } from "../../cli/golden/golden.ts";
import { readGolden, writeGolden } from "../../cli/golden/golden.ts";
import { compareOrigins, makeRecording } from "../../cli/golden/recording.ts";
import { reportComparison } from "../../cli/golden/report.ts";
import { chooseLevel } from "../../cli/golden/tolerance.ts";
import { Terminal } from "../../cli/terminal.ts";
import { findBuiltIn } from "../../models/find-card.ts";
import { openCard } from "../../models/open.ts";

/** False, or why there is nothing to look with: as `skip` of a test takes it. */
export async function withoutModel(name: string): Promise<string | false> {
  try {
    await openCard(findBuiltIn(name));
    return false;
  } catch (error) {
    return (error as Error).message;
  }
}

export interface RecordOptions {
  /** A graph of the library, or a file. */
  readonly graph?: string;
  /** How far into the clip; null for all of it. */
  readonly frames?: number | null;
  readonly params?: Readonly<Record<string, string>>;
}

export async function record(
  clip: string,
  { graph = "detect", frames = null, params = {} }: RecordOptions = {},
): Promise<Golden> {
  let said = "";
  const output = () =>
    new Writable({
      write(chunk: Buffer, _, taken) {
        said += chunk.toString();
        taken();
      },
    });
  const order = { graph, clip, params: { ...params, ...chooseModel() }, frames };
  const golden = await makeRecording(order, new Terminal(output(), output(), {}));
  if (golden === null) throw new Error(said);
  return golden;
}

/** Nothing, unless the user has a `default` of his own: the goldens are of Windhover's. */
function chooseModel(): Readonly<Record<string, string>> {
  const { askedFor } = findBuiltIn("default");
  return askedFor === "default" ? {} : { model: askedFor };
}

export interface Verdict {
  readonly stream: StreamComparison;
  /** The whole report, for the message of a failure. */
  readonly text: string;
}

/** `UPDATE_GOLDEN=1` writes down what is now; the commit then says why. */
export function compareWithGolden(name: string, now: Golden): Verdict {
  const file = fileURLToPath(new URL(`${name}.golden.ndjson`, import.meta.url));
  if (process.env.UPDATE_GOLDEN === "1") writeGolden(file, now);
  if (!existsSync(file))
    throw new Error(`there is no golden ${file}: run this test with UPDATE_GOLDEN=1 and look at it`);
  const golden = readGolden(file, "");
  const streams = compareGoldens(golden, now, chooseLevel(golden.header, now.header));
  const [stream, ...others] = streams;
  if (stream === undefined || others.length > 0) throw new Error(`${streams.length} nodes sent messages; expected one`);
  const notes = compareOrigins(golden.header, now.header);
  const text = [...notes, ...reportComparison(streams, (_, part) => part)].join("\n");
  const isSameMachine = golden.header.machine === now.header.machine;
  // That it is another machine is the one thing that may be said of it.
  if (notes.length > (isSameMachine ? 0 : 1))
    throw new Error(`${text}\nThe golden is of something else; UPDATE_GOLDEN=1 records it anew.`);
  return { stream, text };
}
