/** Runs the API calls of a page in a shell, in order, and compares the responses with those that the page shows. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { isForShell, splitLines } from "./command-lines.ts";
import { type Block, isNotRun, type Page } from "./pages.ts";

const run = promisify(execFile);
/** Not a measurement: only turns a hang into a failure. */
const LIMIT_MS = 120_000;
/** In nanoseconds. */
const CLOCK = "date +%s%N";

export interface TourOptions {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Replacements of addresses in the page, such as `localhost:8080`. */
  readonly places: Readonly<Record<string, string>>;
  /** Called for every block in the end, with its place on the page and its time. */
  onStep?(step: string, seconds: number): void;
}

const isCall = (block: Block): boolean =>
  block.language === "sh" && !isNotRun(block) && splitLines(block.text).some(isForShell);

/** One message for every response that differs from the page. */
export async function takeTour(page: Page, { folder, env, places, onStep }: TourOptions): Promise<readonly string[]> {
  const calls = page.blocks.filter(isCall);
  const script = calls.map(({ text }, i) => `{\n${replacePlaces(text, places)}} > answer-${i}\n${CLOCK} >> times`);
  await writeFile(join(folder, "tour.sh"), [`${CLOCK} > times`, ...script, ""].join("\n"));
  await run("bash", ["-u", "tour.sh"], { cwd: folder, env: { ...process.env, ...env }, timeout: LIMIT_MS });
  const times = (await readFile(join(folder, "times"), "utf8")).trim().split("\n").map(Number);
  const faults: string[] = [];
  for (const [i, call] of calls.entries()) {
    onStep?.(`${page.path}:${call.line}`, ((times[i + 1] ?? 0) - (times[i] ?? 0)) / 1e9);
    const answer = (await readFile(join(folder, `answer-${i}`), "utf8")).trim();
    const problem = /"code":"(\w+)"/.exec(answer);
    if (problem !== null && answer.includes('"request_id"')) faults.push(`${page.path}:${call.line}: ${answer}`);
    const shown = page.blocks[page.blocks.indexOf(call) + 1];
    if (shown?.remark !== "answer") continue;
    faults.push(...compare(shown, answer).map((fault) => `${page.path}:${shown.line}: ${fault}\n  ${answer}`));
  }
  return faults;
}

const replacePlaces = (text: string, places: TourOptions["places"]): string =>
  Object.entries(places).reduce((changed, [shown, place]) => changed.replaceAll(shown, place), text);

function compare({ language, text }: Block, answer: string): readonly string[] {
  if (language === "json") return compareShapes(JSON.parse(text), readJson(answer), "");
  if (!text.startsWith("data: ")) return text.trim() === answer ? [] : [`the page shows ${text.trim()}`];
  return compareShapes(JSON.parse(text.slice(6)), readJson(answer.slice(6)), "");
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Every shown member exists with the same type. Null and an empty list match everything. */
export function compareShapes(shown: unknown, real: unknown, at: string): readonly string[] {
  if (shown === null || real === null) return [];
  if (typeOf(shown) !== typeOf(real))
    return [`${at || "the response"} is shown as ${typeOf(shown)} and is ${typeOf(real)}`];
  if (Array.isArray(shown) && Array.isArray(real))
    return shown.length === 0 || real.length === 0 ? [] : compareShapes(shown[0], real[0], `${at}[0]`);
  if (typeof shown !== "object" || typeof real !== "object") return [];
  return Object.entries(shown).flatMap(([key, value]) =>
    Object.hasOwn(real, key)
      ? compareShapes(value, (real as Record<string, unknown>)[key], `${at}.${key}`)
      : [`${at}.${key} is missing`],
  );
}

const typeOf = (value: unknown): string => (Array.isArray(value) ? "a list" : typeof value);
