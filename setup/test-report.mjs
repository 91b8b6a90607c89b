/**
 * A reporter for `node --test`: the spec reporter of Node, with places in sources instead of bundles. Only what is printed is
 * translated: with `--enable-source-maps`, each test process would read the maps of all its code, for stacks never printed.
 */
import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, resolve } from "node:path";
import { pipeline } from "node:stream";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";

/** Deeper causes are not printed. */
const MAX_CAUSES = 8;

const maps = new Map();

function readMap(file) {
  if (!maps.has(file)) {
    const path = `${file}.map`;
    maps.set(file, existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, "utf8"))) : null);
  }
  return maps.get(file);
}

/** @returns {{ file: string, line: number, column: number }} the same if the file has no source map */
export function findPlace({ file, line, column }) {
  const path = file?.startsWith("file:///") ? fileURLToPath(file) : file;
  const entry = path === undefined ? undefined : readMap(path)?.findEntry(line - 1, column - 1);
  if (entry?.originalSource === undefined) return { file: path, line, column };
  const source = resolve(dirname(path), entry.originalSource);
  return { file: source, line: entry.originalLine + 1, column: entry.originalColumn + 1 };
}

/** Words such as `file:///…/a.test.mjs:12:5`. */
const translate = (text) =>
  text
    .split(/([\s()'"]+)/)
    .map((word) => {
      const [line, column] = word.split(":").slice(-2);
      const path = word.slice(0, -`:${line}:${column}`.length);
      if (!path.endsWith(".mjs")) return word;
      const place = findPlace({ file: path, line: Number(line), column: Number(column) });
      return `${place.file}:${place.line}:${place.column}`;
    })
    .join("");

/** Its stack, and those of its causes: the error is a copy that belongs to the reporters. */
function translateStacks(error) {
  for (let one = error, left = MAX_CAUSES; one instanceof Error && left > 0; one = one.cause, left--)
    // Node 22 makes it read-only.
    if (typeof one.stack === "string") Object.defineProperty(one, "stack", { value: translate(one.stack) });
}

async function* translateEvents(events) {
  for await (const { type, data } of events) {
    if (data.details?.error !== undefined) translateStacks(data.details.error);
    const place = data.line === undefined ? {} : findPlace(data);
    const message = typeof data.message === "string" ? { message: translate(data.message) } : {};
    yield { type, data: { ...data, ...place, ...message } };
  }
}

export default async function* report(events) {
  const printer = new spec();
  // An error destroys the printer, which passes it on.
  pipeline(translateEvents(events), printer, () => {});
  yield* printer;
}
