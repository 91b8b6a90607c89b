/** Results of tests as text for people, as TAP and as JUnit XML. Pure. */
import type { TestFailure } from "../../schemas/graph-tests.ts";
import { escapeText } from "../svg.ts";
import type { Paint } from "../text.ts";
import type { FileTestResult } from "./run-test.ts";

const placeOf = (file: string, { line, column }: TestFailure): string => `${file}:${line}:${column}`;

export function formatResult({ file, name, seconds, failures }: FileTestResult, paint: Paint): string {
  const took = paint("dim", `(${seconds.toFixed(1)} s)`);
  if (failures.length === 0) return `  ${paint("green", "✓")} ${name} ${took}`;
  const lines = failures.map(
    (failure) => `      ${placeOf(file, failure)}: ${failure.message.replaceAll("\n", "\n      ")}`,
  );
  return [`  ${paint("red", "✗")} ${name} ${took}`, ...lines].join("\n");
}

export function formatTotal(results: readonly FileTestResult[]): string {
  const failed = results.filter(({ failures }) => failures.length > 0).length;
  const tests = results.length === 1 ? "1 test" : `${results.length} tests`;
  return failed === 0 ? `${tests} passed` : `${tests}: ${results.length - failed} passed, ${failed} failed`;
}

/** One test of the Test Anything Protocol, version 14. */
export function formatTap({ file, name, seconds, failures }: FileTestResult, number: number): string {
  const title = `${number} - ${file}: ${name}`;
  const details = [
    "  ---",
    `  duration_ms: ${Math.round(seconds * 1000)}`,
    ...(failures.length === 0 ? [] : ["  failures:"]),
    ...failures.flatMap((failure) => [
      `    - at: ${JSON.stringify(placeOf(file, failure))}`,
      `      message: ${JSON.stringify(failure.message)}`,
    ]),
    "  ...",
  ];
  return [`${failures.length === 0 ? "ok" : "not ok"} ${title}`, ...details].join("\n");
}

export function formatJunit(results: readonly FileTestResult[]): string {
  const files = [...new Set(results.map(({ file }) => file))];
  const suites = files.map((file) => {
    const own = results.filter((result) => result.file === file);
    return [`  <testsuite ${describe(file, own)}>`, ...own.map(formatCase), "  </testsuite>"].join("\n");
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${describe("windhover test", results)}>`,
    ...suites,
    "</testsuites>",
    "",
  ].join("\n");
}

function describe(name: string, results: readonly FileTestResult[]): string {
  const failed = results.filter(({ failures }) => failures.length > 0).length;
  const seconds = results.reduce((total, result) => total + result.seconds, 0);
  return `name="${quote(name)}" tests="${results.length}" failures="${failed}" time="${seconds.toFixed(3)}"`;
}

function formatCase({ file, name, seconds, failures }: FileTestResult): string {
  const head = `    <testcase name="${quote(name)}" classname="${quote(file)}" time="${seconds.toFixed(3)}"`;
  if (failures.length === 0) return `${head}/>`;
  const inner = failures.map(
    (failure) =>
      `      <failure message="${quote(failure.message)}">${clean(`${placeOf(file, failure)}: ${failure.message}`)}</failure>`,
  );
  return [`${head}>`, ...inner, "    </testcase>"].join("\n");
}

/** XML has no control characters but these. */
const clean = (text: string): string => escapeText(text.replaceAll(/(?![\t\n\r])\p{Cc}/gu, ""));

const quote = (text: string): string => clean(text).replaceAll("\n", "&#10;");
