/** Recordings of the graph `detect` in this process, compared with the committed goldens. */
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

/** For `skip` of a test: false, or the reason why the model is unavailable. */
export async function withoutModel(name: string): Promise<string | false> {
  try {
    await openCard(findBuiltIn(name));
    return false;
  } catch (error) {
    return (error as Error).message;
  }
}

export interface RecordOptions {
  /** Name of a built-in graph, or a file. */
  readonly graph?: string;
  /** Number of frames; null for the whole clip. */
  readonly frames?: number | null;
  readonly params?: Readonly<Record<string, string>>;
}

export async function record(
  clip: string,
  { graph = "detect", frames = null, params = {} }: RecordOptions = {},
): Promise<Golden> {
  let printed = "";
  const output = () =>
    new Writable({
      write(chunk: Buffer, _, done) {
        printed += chunk.toString();
        done();
      },
    });
  const order = { graph, clip, params: { ...params, ...chooseModel() }, frames };
  const golden = await makeRecording(order, new Terminal(output(), output(), {}));
  if (golden === null) throw new Error(printed);
  return golden;
}

/** Selects the built-in `default` model, also when the user has installed a model of that name. */
function chooseModel(): Readonly<Record<string, string>> {
  const { askedFor } = findBuiltIn("default");
  return askedFor === "default" ? {} : { model: askedFor };
}

export interface GoldenComparison {
  readonly stream: StreamComparison;
  /** The whole report, for the message of a failure. */
  readonly text: string;
}

const fileOf = (name: string): string => fileURLToPath(new URL(`${name}.golden.ndjson`, import.meta.url));
const isUpdating = (): boolean => process.env.UPDATE_GOLDEN === "1";

/** How many frames a recording needs: all of the golden where it was recorded, as many as are compared elsewhere. */
export const countFrames = (name: string, all: number, elsewhere: number): number =>
  isUpdating() || readGolden(fileOf(name), "").header.machine === process.arch ? all : elsewhere;

/**
 * `UPDATE_GOLDEN=1` overwrites the golden; explain the change in the commit. `elsewhere`: how many of the first messages are
 * compared on another kind of machine than that of the golden.
 */
export function compareWithGolden(name: string, now: Golden, elsewhere = Number.POSITIVE_INFINITY): GoldenComparison {
  const file = fileOf(name);
  if (isUpdating()) writeGolden(file, now);
  if (!existsSync(file)) throw new Error(`no golden ${file}: run this test with UPDATE_GOLDEN=1 and review the result`);
  const golden = readGolden(file, "");
  const isSameMachine = golden.header.machine === now.header.machine;
  const first = (one: Golden): Golden => (isSameMachine ? one : { ...one, said: one.said.slice(0, elsewhere) });
  const streams = compareGoldens(first(golden), first(now), chooseLevel(golden.header, now.header));
  const [stream, ...others] = streams;
  if (stream === undefined || others.length > 0) throw new Error(`${streams.length} nodes sent messages; expected one`);
  const notes = compareOrigins(golden.header, now.header);
  const text = [...notes, ...reportComparison(streams, (_, part) => part)].join("\n");
  // Only the note about another machine is acceptable.
  if (notes.length > (isSameMachine ? 0 : 1))
    throw new Error(`${text}\nThe golden has another origin; UPDATE_GOLDEN=1 records it again.`);
  return { stream, text };
}
