/**
 * Maps JavaScript stacks to source lines. Source maps lie beside the bundled code (setup/bundle.mjs) without a reference,
 * so that Node does not read them at every start; they are read here, after a failure.
 */
import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FRAME = /^\s+at (?:(.*) \()?(?:file:\/\/)?(\/[^()]+?):(\d+):(\d+)\)?$/;
const MAX_FRAMES = 20;

/** Callers of elements, cut off below the element's own frames. */
const MACHINERY = /[ (](?:graphs\/runtime\/|native\/|node:)/;

/** Frames only, without the message: `at process (elements/x/x.ts:12:7)`. Empty if the text has none. */
export function framesOf(stack: string): readonly string[] {
  const frames = stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .slice(0, MAX_FRAMES)
    .map(locateFrame);
  const last = frames.findLastIndex((frame) => !MACHINERY.test(frame));
  return last < 0 ? frames : frames.slice(0, last + 1);
}

/** Relative to the checkout or to the working directory, if inside it. */
export const shortenPath = (path: string): string => {
  const plain = path.startsWith("file://") ? fileURLToPath(path) : path;
  const above = [ROOT, join(process.cwd(), "/")].find((folder) => plain.startsWith(folder)) ?? "";
  return plain.slice(above.length);
};

/** Source maps of code that is in no file, by its name in stacks: of elements that were built when they were loaded. */
const maps = new Map<string, string>();
/** Of one source: the code that runs, and that which replaces it. */
const MAX_VERSIONS = 2;
let versions = 0;

/** Returns the name that the code has to have in stacks. */
export function keepMap(source: string, map: string): string {
  versions += 1;
  const name = `${source}#${versions}`;
  maps.set(name, map);
  const known = [...maps.keys()].filter((other) => other.startsWith(`${source}#`));
  for (const old of known.slice(0, -MAX_VERSIONS)) maps.delete(old);
  return name;
}

function locateFrame(text: string): string {
  const [, name, path, line, column] = FRAME.exec(text) ?? [];
  if (path === undefined) return text.trim();
  const place = findSource(path, Number(line), Number(column));
  return name === undefined ? `at ${place}` : `at ${name} (${place})`;
}

function findSource(path: string, line: number, column: number): string {
  const entry = readMap(path)?.findEntry(line - 1, column - 1);
  if (entry === undefined || !("originalSource" in entry)) return `${shortenPath(path)}:${line}:${column}`;
  const source = join(dirname(path), entry.originalSource);
  return `${shortenPath(source)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}

function readMap(path: string): SourceMap | null {
  const kept = maps.get(path);
  if (kept !== undefined) return new SourceMap(JSON.parse(kept));
  const file = `${path}.map`;
  if (!path.startsWith(join(ROOT, "build/")) || !existsSync(file)) return null;
  return new SourceMap(JSON.parse(readFileSync(file, "utf8")));
}
