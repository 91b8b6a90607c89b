/** Files, folders and configuration keys that pages name exist: a page must follow when one is moved or removed. */
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CONFIG_KEYS } from "../../server/config/keys.ts";
import { findPage, ROOT, WRITTEN } from "./pages.ts";

/** Names of earlier versions, and of files that the reader creates. */
const EXEMPT = new Set(["CHANGELOG.md", "docs/workspace.md", "docs/writing-an-element.md"]);
const PAGES = WRITTEN.filter(({ path }) => !EXEMPT.has(path));

/** Written by the set-up, by a build or by the operator. */
const NOT_TRACKED = /^(build|node_modules)\/|^docker\/\.env$/;
const FOLDERS = new Set(readdirSync(ROOT, { withFileTypes: true }).flatMap((e) => (e.isDirectory() ? e.name : [])));

const isPath = (text: string): boolean =>
  /^[a-z]+(\/[\w.-]+)+\/?$|^[a-z]+\/$/.test(text) && FOLDERS.has(text.split("/")[0] ?? "");

/** In backticks and in diagrams. `NAME` is a placeholder, `*` a pattern. */
function listPaths(text: string): readonly string[] {
  const diagrams = [...text.matchAll(/```mermaid\n([\s\S]*?)```/g)].map(([, diagram = ""]) => diagram).join("\n");
  const named = [
    ...[...text.matchAll(/`([^`\s]+)`/g)].map(([, name = ""]) => name),
    ...[...diagrams.matchAll(/[\w-]+(?:\/[\w.-]+)+\.[a-z]+/g)].map(([name]) => name),
  ];
  return [...new Set(named.filter((name) => isPath(name) && !NOT_TRACKED.test(name) && !name.includes("NAME")))];
}

test("finds paths in backticks and in diagrams", () => {
  const text =
    '`server/main.ts` `hub/` `video/x-raw` `elements/NAME/NAME.ts`\n```mermaid\na["ipc/child.ts<br>b"]\n```\n';
  assert.deepEqual(listPaths(text), ["server/main.ts", "hub/", "ipc/child.ts"]);
});

test("every file and folder that a page names exists", () => {
  const missing = PAGES.flatMap(({ path, text }) =>
    listPaths(text)
      .filter((name) => !existsSync(join(ROOT, name)))
      .map((name) => `${path}: there is no ${name}`),
  );
  assert.deepEqual(missing, []);
});

test("docs/architecture.md names the files of each flow", () => {
  const flows = findPage("docs/architecture.md")
    .text.split(/^## /m)
    .filter((section) => section.startsWith("Flow "));
  assert.equal(flows.length, 3);
  for (const flow of flows) assert.ok(listPaths(flow).length >= 10, flow.split("\n")[0]);
});

test("every configuration key that a page names exists", () => {
  const keys = new Set(CONFIG_KEYS.map(({ name }) => name));
  const sections = new Set(CONFIG_KEYS.flatMap(({ path }) => (path.length > 1 ? path[0] : [])));
  const unknown = PAGES.flatMap(({ path, text }) =>
    [...text.matchAll(/`([a-z]+)\.([a-z_]+)(?:: [^`]*)?`/g)]
      .filter(([, section = "", key = ""]) => sections.has(section) && !/^(js|ts|md|yaml)$/.test(key))
      .map(([, section, key]) => `${section}.${key}`)
      .filter((name) => !keys.has(name))
      .map((name) => `${path}: there is no key ${name}`),
  );
  assert.deepEqual(unknown, []);
});
