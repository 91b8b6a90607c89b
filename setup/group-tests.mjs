/**
 * Tests that only compute run together, some dozens in a process: starting one for each, and loading what they are made
 * of, would take longer than the tests themselves.
 */
import { readFileSync } from "node:fs";
import { relative, sep } from "node:path";

const MOST_TOGETHER = 40;

/** Modules by which a test reaches beyond its own process, or changes what the process is. */
const REACHING = /^(node:)?(child_process|worker_threads|cluster|net|tls|https?|http2|dgram|module|vm|v8)$|\.mjs$/;
/** Of the whole process: its neighbours would meet them too. */
const SHARED = /\b(before|beforeEach|afterEach)\(|\b(mock|globalThis|process)\.(?!pid\b|platform\b)/;

/**
 * @param {readonly string[]} files
 * @param {Record<string, { imports: { path: string, external?: boolean }[] }>} inputs as esbuild tells of them
 * @returns {{ single: string[], groups: string[][] }}
 */
export function groupTests(files, inputs, root) {
  const nameOf = (file) => relative(root, file).split(sep).join("/");
  const isAlone = (file) =>
    SHARED.test(readFileSync(file, "utf8")) ||
    [...listOutside(nameOf(file), inputs)].some((path) => REACHING.test(path));
  const single = files.filter(isAlone);
  const together = files.filter((file) => !single.includes(file));
  const count = Math.ceil(together.length / MOST_TOGETHER);
  // Dealt out like cards: neighbours are of a kind, and the slow kinds would meet in one group.
  const groups = Array.from({ length: count }, (_, i) => together.filter((_file, at) => at % count === i));
  return { single, groups };
}

/** What is not bundled of all that a file is made of. */
function listOutside(name, inputs) {
  const outside = new Set();
  const seen = new Set();
  const due = [name];
  for (let next = due.pop(); next !== undefined; next = due.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    for (const { path, external } of inputs[next]?.imports ?? []) {
      if (external) outside.add(path);
      else due.push(path);
    }
  }
  return outside;
}
