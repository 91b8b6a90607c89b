/** Runs the calls of a page in a shell, in order, against a service, and holds the answers that it shows against those. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Block } from "./blocks.ts";
import { isForShell, splitLines } from "./command-lines.ts";
import { isNotRun, type Page } from "./pages.ts";

const run = promisify(execFile);
/** Not a measure of anything: only so that a hang becomes a failure. */
const LIMIT_MS = 120_000;

export interface Surroundings {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** From what the page says to what it is here: `localhost:8080`. */
  readonly places: Readonly<Record<string, string>>;
}

const isCall = (block: Block): boolean =>
  block.language === "sh" && !isNotRun(block) && splitLines(block.text).some(isForShell);

/** One sentence for every answer that is not as the page shows it. */
export async function takeTour(page: Page, { folder, env, places }: Surroundings): Promise<readonly string[]> {
  const calls = page.blocks.filter(isCall);
  const script = calls.map(({ text }, i) => `{\n${here(text, places)}} > answer-${i}`).join("\n");
  await writeFile(join(folder, "tour.sh"), script);
  await run("bash", ["-u", "tour.sh"], { cwd: folder, env: { ...process.env, ...env }, timeout: LIMIT_MS });
  const faults: string[] = [];
  for (const [i, call] of calls.entries()) {
    const answer = (await readFile(join(folder, `answer-${i}`), "utf8")).trim();
    const problem = /"code":"(\w+)"/.exec(answer);
    if (problem !== null && answer.includes('"request_id"')) faults.push(`${page.path}:${call.line}: ${answer}`);
    const shown = page.blocks[page.blocks.indexOf(call) + 1];
    if (shown?.remark !== "answer") continue;
    faults.push(...compare(shown, answer).map((fault) => `${page.path}:${shown.line}: ${fault}\n  ${answer}`));
  }
  return faults;
}

const here = (text: string, places: Surroundings["places"]): string =>
  Object.entries(places).reduce((told, [there, place]) => told.replaceAll(there, place), text);

function compare({ language, text }: Block, answer: string): readonly string[] {
  if (language === "json") return compareShapes(JSON.parse(text), readJson(answer), "");
  if (!text.startsWith("data: ")) return text.trim() === answer ? [] : [`it shows ${text.trim()}`];
  return compareShapes(JSON.parse(text.slice(6)), readJson(answer.slice(6)), "");
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What is shown is there, and of the same kind. Null and an empty list may stand for anything. */
export function compareShapes(shown: unknown, real: unknown, at: string): readonly string[] {
  if (shown === null || real === null) return [];
  if (kindOf(shown) !== kindOf(real)) return [`${at || "it"} is shown as ${kindOf(shown)} and is ${kindOf(real)}`];
  if (Array.isArray(shown) && Array.isArray(real))
    return shown.length === 0 || real.length === 0 ? [] : compareShapes(shown[0], real[0], `${at}[0]`);
  if (typeof shown !== "object" || typeof real !== "object") return [];
  return Object.entries(shown).flatMap(([key, value]) =>
    Object.hasOwn(real, key)
      ? compareShapes(value, (real as Record<string, unknown>)[key], `${at}.${key}`)
      : [`${at}.${key} is not there`],
  );
}

const kindOf = (value: unknown): string => (Array.isArray(value) ? "a list" : typeof value);
