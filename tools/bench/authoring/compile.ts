/**
 * Time to compile a graph, and to read its YAML alone, in turn: the largest graph of the repository (`repository`), or the
 * largest that the limits of the compiler allow (`limits`). Run in its own process. Prints medians in ms.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseDocument } from "yaml";
import { loadKnowledge } from "../../../cli/compile-graph.ts";
import { compile } from "../../../graphs/compiler/compile.ts";
import { GraphFaults } from "../../../graphs/compiler/fault.ts";
import { MAX_EXPRESSIONS, MAX_NODES } from "../../../graphs/compiler/limits.ts";
import { median } from "../harness.ts";

const TIMES = 20;
/** The first ones are compiled to machine code while they run. */
const WARM_UP = 10;
const GRAPHS = fileURLToPath(new URL("../../../graphs/", import.meta.url));

function readLargest(): string {
  const files = readdirSync(GRAPHS, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".yaml"));
  const texts = files
    .filter((name) => !name.startsWith("compiler/"))
    .map((name) => readFileSync(GRAPHS + name, "utf8"));
  return texts.reduce((largest, text) => (text.length > largest.length ? text : largest), "");
}

/** As many nodes and expressions as the compiler accepts: filters, and queues between them. */
function makeLargest(): string {
  const head = ["source", "decode", "detect", "track"];
  const filters = Array.from(
    { length: MAX_EXPRESSIONS },
    (_, index) => `{ filter: "class_name == 'car' && width > 0.${index}" }`,
  );
  const build = (queues: number): string => {
    const steps = [...head, ...filters.flatMap((step, index) => (index < queues ? [step, "queue"] : [step])), "print"];
    return `graph: largest\nchains:\n  main:\n${steps.map((step) => `    - ${step}\n`).join("")}`;
  };
  // The steps at either end expand to several nodes.
  const [none, one] = [countNodes(build(0)), countNodes(build(1))];
  return build(Math.floor((MAX_NODES - none) / (one - none)));
}

const input = { ...(await loadKnowledge(null)), source: { uri: "test:ball" }, mode: "check" as const };

function compileText(text: string) {
  const { plan, faults } = compile({ file: "bench.yaml", text }, input);
  if (plan === null) throw new GraphFaults(faults);
  return plan;
}

function countNodes(text: string): number {
  const { main, branches } = compileText(text);
  return [main, ...branches].reduce((sum, { nodes }) => sum + nodes.length, 0);
}

function time(list: number[], work: () => unknown): void {
  const startedMs = performance.now();
  work();
  list.push(performance.now() - startedMs);
}

const text = process.argv[2] === "limits" ? makeLargest() : readLargest();
const compiling: number[] = [];
const reading: number[] = [];
for (let round = 0; round < WARM_UP + TIMES; round++) {
  time(compiling, () => compileText(text));
  time(reading, () => parseDocument(text));
}
console.log(JSON.stringify({ measured: median(compiling.slice(WARM_UP)), peer: median(reading.slice(WARM_UP)) }));
