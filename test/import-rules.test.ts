import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { listFiles, readImports, readSources } from "./import-graph.ts";
import { checkElementModules, checkNames, checkTable, findCycles } from "./import-rules.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** A project made of `path: text`. */
const project = (files: Record<string, string>) =>
  Object.entries(files).map(([path, text]) => ({ path, imports: readImports(text) }));

describe("the project", () => {
  const files = readSources(ROOT);

  test("has files that import each other", () => {
    assert.ok(files.some(({ path, imports }) => path === "elements/element.ts" && imports.length > 0));
  });
  test("imports only what the table allows", () => {
    assert.deepEqual(checkTable(files), []);
  });
  test("has no import cycles between files", () => {
    assert.deepEqual(findCycles(files), []);
  });
  test("loads no heavy module with an element's definition", () => {
    assert.deepEqual(checkElementModules(files), []);
  });
  test("names files by their role", () => {
    assert.deepEqual(checkNames(listFiles(ROOT)), []);
  });
});

describe("the table rejects", () => {
  const rejected: readonly (readonly [what: string, path: string, text: string])[] = [
    ["an element that imports another", "elements/track/track.ts", `import { a } from "../detect/boxes.ts";`],
    ["an element that imports native", "elements/track/track.ts", `const n = await import("../../native/addon.ts");`],
    [
      "an element that imports types of the server",
      "elements/track/a.ts",
      `import type { A } from "../../server/a.ts";`,
    ],
    ["an element that imports the index", "elements/track/track.ts", `import { a } from "../index.ts";`],
    ["an element other than detect with a model", "elements/track/track.ts", `import { a } from "../../models/a.ts";`],
    ["a schema that imports anything", "schemas/a.ts", `import type { A } from "../elements/element.ts";`],
    ["native with types of schemas", "native/a.ts", `import type { A } from "../schemas/a.ts";`],
    ["the compiler with native", "graphs/compiler/a.ts", `export { a } from "../../native/addon.ts";`],
    ["the server with the runtime", "server/main.ts", `import "../graphs/runtime/main.ts";`],
    ["the server with types of native", "server/main.ts", `type A = typeof import("../native/addon.ts");`],
    ["code that imports a test", "graphs/compiler/a.ts", `import { a } from "./b.test.ts";`],
    ["the console with values of schemas", "console/a.ts", `import { a } from "../schemas/a.ts";`],
    ["code that imports a fixture", "cli/a.ts", `import { a } from "../elements/registry.fixture.ts";`],
    ["the command line with tools from its start", "cli/a.ts", `import { a } from "../tools/eval/a.ts";`],
    ["a computed specifier", "server/main.ts", "await import(name);"],
    ["a server folder that imports a higher layer", "server/store/a.ts", `import type { A } from "../api/b.ts";`],
    ["a folder of the middle layer with the API", "server/media/a.ts", `import { a } from "../api/b.ts";`],
    ["a file directly in server/ with the store", "server/uuid.ts", `import { a } from "./store/a.ts";`],
    ["a server folder without a layer", "server/extras/a.ts", ""],
    ["a folder without a row", "extras/a.ts", ""],
  ];
  for (const [what, path, text] of rejected) {
    test(what, () => {
      const faults = checkTable(project({ [path]: text }));
      assert.equal(faults.length, 1);
      assert.match(faults[0] ?? "", new RegExp(`^${path}`));
    });
  }
});

describe("the table allows", () => {
  const allowed: readonly (readonly [what: string, path: string, text: string])[] = [
    ["an element its own neighbours", "elements/track/track.ts", `import { a } from "./assign.ts";`],
    ["detect its model", "elements/detect/detect.ts", `await import("../../models/fetch.ts");`],
    ["the index its elements", "elements/find.ts", "await import(pathOf(name));"],
    ["the console types of schemas", "console/a.ts", `import type { A } from "../schemas/a.ts";`],
    ["the command line tools by a dynamic import", "cli/a.ts", `await import("../tools/eval/a.ts");`],
    ["the runtime the compiler", "graphs/runtime/a.ts", `import { a } from "../compiler/plan.ts";`],
    ["the API every lower layer", "server/api/a.ts", `import { a } from "../store/b.ts";`],
    ["a server folder its own layer", "server/alerts/a.ts", `import { a } from "../processes/b.ts";`],
    ["a server folder files directly in server/", "server/async/a.ts", `import { a } from "../uuid.ts";`],
    ["tests everything", "elements/track/track.test.ts", `import { a } from "../../server/main.ts";`],
    [
      "an import in a comment",
      "schemas/a.ts",
      `// import { a } from "../server/main.ts";\n/* import("../cli/a.ts") */`,
    ],
  ];
  for (const [what, path, text] of allowed) {
    test(what, () => assert.deepEqual(checkTable(project({ [path]: text })), []));
  }
});

describe("import cycles", () => {
  const files = project({
    "cli/a.ts": `import { b } from "./b.ts";`,
    "cli/b.ts": `import type { C } from "./c.ts";\nimport { d } from "./d.ts";`,
    "cli/c.ts": `export const load = () => import("./a.ts");`,
    "cli/d.ts": `import { test } from "node:test";`,
    "cli/e.ts": `import { a } from "./a.ts";`,
  });
  test("are found through static, type and dynamic imports", () => {
    assert.deepEqual(findCycles(files), ["cli/a.ts → cli/b.ts → cli/c.ts → cli/a.ts"]);
    assert.deepEqual(findCycles(project({ "cli/a.ts": `import "./a.ts";` })), ["cli/a.ts → cli/a.ts"]);
  });
});

describe("an element's module", () => {
  test("may not load a heavy package, not even through a neighbour", () => {
    const files = project({
      "elements/detect/detect.ts": `import { Type } from "typebox";\nimport { run } from "./run.ts";`,
      "elements/detect/run.ts": `import * as ort from "onnxruntime-node";`,
    });
    assert.deepEqual(checkElementModules(files), [
      "elements/detect/run.ts:1 imports onnxruntime-node (reached from elements/detect/detect.ts): " +
        "import it inside create, so that listing elements stays fast",
    ]);
  });
  test("may name a heavy package in a type and inside create", () => {
    const text = `import type { Session } from "onnxruntime-node";\nconst load = () => import("onnxruntime-node");`;
    assert.deepEqual(checkElementModules(project({ "elements/detect/detect.ts": text })), []);
  });
});

test("reads every form of import with its line", () => {
  const text = [
    `import a, { type B } from "./a.ts"; // import "./no.ts"`,
    `const url = "rtsp://x"; import "./b.ts";`,
    `export * from './c.ts';`,
    `import {`,
    `  d,`,
    `} from "./d.ts";`,
    `export type { E } from "./e.ts";`,
    `const f = await import("./f.ts");`,
    `const exported = "not an import";`,
  ].join("\n");
  assert.deepEqual(
    readImports(text).map(({ specifier, kind, line }) => `${line} ${kind} ${specifier}`),
    ["1 static ./a.ts", "2 static ./b.ts", "3 static ./c.ts", "4 static ./d.ts", "7 type ./e.ts", "8 dynamic ./f.ts"],
  );
});

test("finds names without meaning and names in the wrong style", () => {
  const paths = [
    "cli/utils.ts",
    "server/device-manager.ts",
    "graphs/common/a.ts",
    "cli/runGraph.ts",
    "native/src/a-b.cc",
  ];
  assert.equal(checkNames(paths).length, paths.length);
  assert.deepEqual(checkNames(["cli/run-graph.ts", "native/src/a_b.cc", "README.md", "commonly/committed.ts"]), []);
});
