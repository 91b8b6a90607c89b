/**
 * Checks the documentation: graphs compile, command lines are valid, JSON fits its schema, links resolve, the tutorial's
 * element runs. `test/docs/commands.test.ts` runs commands, `test/docs/shown.test.ts` compares output, and
 * `test/api/client.test.ts` makes the API calls.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { type TSchema, Type } from "typebox";
import { readAlerts } from "../cli/replay/read-alerts.ts";
import { loadElements } from "../elements/index.ts";
import { compile } from "../graphs/compiler/compile.ts";
import { loadRegistry } from "../graphs/runtime/registry.ts";
import { AlertChange } from "../schemas/api/alerts.ts";
import { Calibration } from "../schemas/api/calibration.ts";
import { AlertNotice } from "../schemas/api/events.ts";
import { EvidenceFields } from "../schemas/api/evidence.ts";
import { NewTracksNotification } from "../schemas/api/webhooks.ts";
import { DetectionMessage } from "../schemas/detection-message.ts";
import { EnhancedData } from "../schemas/enhancement.ts";
import { type ConfigFault, checkSetting } from "../server/config/keys.ts";
import { readConfigText } from "../server/config/read-settings.ts";
import { checkBy } from "../server/validation.ts";
import { testClip } from "./clips.fixture.ts";
import { checkLine, isForShell, splitLines, splitWords } from "./docs/command-lines.ts";
import { type Block, checkLinks, fileOf, findPage, isNotRun, PAGES, type Page, ROOT, WRITTEN } from "./docs/pages.ts";
import { fillWorkspace } from "./docs/reader-folder.ts";
import { makeClip, temporaryFolder } from "./graph.fixture.ts";

const run = promisify(execFile);
const folder = temporaryFolder();
const manifest = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
const tutorial = findPage("docs/writing-an-element.md");

const eachBlock = (language: string, visit: (page: Page, block: Block) => void): void => {
  for (const page of WRITTEN) for (const block of page.blocks) if (block.language === language) visit(page, block);
};
const nameOf = (page: Page, { line }: Block): string => `${page.path}:${line}`;

test("every link resolves to a file and a heading, and the index links every page", () => {
  assert.deepEqual(
    PAGES.flatMap((page) => checkLinks(page, PAGES)),
    [],
  );
  // Those of resources are in the index of the API.
  const index = findPage("docs/README.md").text + findPage("docs/api.md").text;
  const lost = PAGES.filter(({ path }) => path.startsWith("docs/") && path !== "docs/README.md").filter(
    ({ path }) => !index.includes(`(${path.slice("docs/".length)})`),
  );
  assert.deepEqual(lost, []);
});

test("docs/dependencies.md gives a reason for every dependency, and for nothing else", () => {
  const { text } = findPage("docs/dependencies.md");
  const listed = [...text.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, names = ""]) =>
    names.replaceAll("`", "").split(", "),
  );
  const used = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
  assert.deepEqual(listed.sort(), used.sort());
});

describe("every graph compiles", async () => {
  const [elements, registry] = [await loadElements(), loadRegistry()];
  const load = (name: string) => {
    const file = `graphs/${name}.yaml`;
    return existsSync(join(ROOT, file)) ? { file, text: readFileSync(join(ROOT, file), "utf8") } : undefined;
  };
  eachBlock("yaml", (page, block) => {
    // server/api/alert-destinations.test.ts uses the destinations.
    if (page === tutorial || ["alerts", "config", "destinations"].includes(block.remark ?? "")) return;
    test(nameOf(page, block), () => {
      const { faults } = compile({ file: page.path, text: block.text }, { elements, registry, load, mode: "check" });
      assert.deepEqual(
        faults.map(({ message }) => message),
        [],
      );
    });
  });
});

describe("the service accepts the settings and alerts", () => {
  eachBlock("yaml", (page, block) => {
    if (block.remark === "config")
      test(nameOf(page, block), () => {
        const faults: ConfigFault[] = [];
        const settings = readConfigText(page.path, block.text, faults);
        assert.deepEqual(faults, []);
        assert.deepEqual(settings.map(checkSetting).filter(Boolean), []);
      });
    if (block.remark === "alerts")
      test(nameOf(page, block), async () => {
        const file = join(folder, "alerts.yaml");
        await writeFile(file, block.text);
        const { alerts, faults } = readAlerts(file, null);
        assert.deepEqual(faults, []);
        assert.deepEqual(new Set(alerts.map(({ type }) => type)).size, 4);
      });
  });
});

test("every command accepts its command line", async () => {
  const faults: string[] = [];
  for (const page of WRITTEN)
    for (const block of page.blocks.filter(
      (one) => one.language === "sh" && !isNotRun(one) && one.remark !== "run: dump",
    ))
      for (const line of splitLines(block.text).filter((one) => !isForShell(one))) {
        if (page === tutorial && line.startsWith("npm ")) continue;
        const fault = await checkLine(line, manifest.scripts);
        if (fault !== null) faults.push(`${nameOf(page, block)}: ${line}: ${fault}`);
      }
  assert.deepEqual(faults, []);
});

describe("JSON fits its schema", () => {
  const schemas: Readonly<Record<string, TSchema>> = {
    notice: AlertNotice,
    schedule: AlertChange,
    notification: NewTracksNotification,
    message: DetectionMessage,
    calibration: Calibration,
    enhanced: EnhancedData,
    "alert change": AlertChange,
    "evidence of a notice": Type.Object(EvidenceFields),
    "MCP configuration": Type.Object({
      mcpServers: Type.Record(
        Type.String(),
        Type.Object({ command: Type.String(), args: Type.Array(Type.String()), env: Type.Object({}) }),
      ),
    }),
  };
  eachBlock("json", (page, block) => {
    const { remark, text } = block;
    // test/api/client.test.ts compares these with real responses.
    if (remark === "answer") return;
    test(nameOf(page, block), () => {
      const schema = schemas[remark ?? ""] ?? assert.fail("a comment above the block must name its schema");
      assert.deepEqual(checkBy(schema)(JSON.parse(text)), []);
    });
  });
});

describe("the signature check works", () => {
  const { blocks } = findPage("docs/alerts.md");
  const block = (language: string) => blocks.find((one) => one.language === language)?.text ?? assert.fail();
  const secret = `whsec_${randomBytes(32).toString("base64")}`;
  const body = '{"alias":"é"}';
  const time = String(Math.floor(Date.now() / 1000));
  const mac = createHmac("sha256", Buffer.from(secret.slice(6), "base64")).update(`id-1.${time}.${body}`);
  const headers = {
    "webhook-id": "id-1",
    "webhook-timestamp": time,
    "webhook-signature": `v1,${mac.digest("base64")}`,
  };
  /** Headers, body and whether the signature is valid. */
  const cases: readonly (readonly [object, string, boolean])[] = [
    [headers, body, true],
    [{ ...headers, "webhook-signature": `v1,AAAA ${headers["webhook-signature"]}` }, body, true],
    [headers, `${body} `, false],
    [{ ...headers, "webhook-id": "id-2" }, body, false],
    [{ ...headers, "webhook-timestamp": String(Number(time) - 3600) }, body, false],
  ];
  const expected = cases.map(([, , isGood]) => isGood);

  test("in Node", async () => {
    const file = join(folder, "signature.mjs");
    await writeFile(file, block("js"));
    const { isFromWindhover } = await import(pathToFileURL(file).href);
    assert.deepEqual(
      cases.map(([given, text]) => isFromWindhover(given, text, secret)),
      expected,
    );
  });

  test("in Python", async () => {
    const calls = `\nimport json, sys\nfor h, b in json.load(sys.stdin): print(is_from_windhover(h, b.encode(), ${JSON.stringify(secret)}))\n`;
    const child = run("python3", ["-c", block("python") + calls]);
    child.child.stdin?.end(JSON.stringify(cases.map(([given, text]) => [given, text])));
    const { stdout } = await child;
    assert.deepEqual(
      stdout.trim().split("\n"),
      expected.map((isGood) => (isGood ? "True" : "False")),
    );
  });
});

/** The different sets of keys of the lines: detections differ between processors. */
const kindsOf = (lines: string): readonly string[] => [
  ...new Set(
    lines
      .trim()
      .split("\n")
      .map((line) => Object.keys(JSON.parse(line)).join()),
  ),
];

test("the tutorial's element compiles, passes its test, and runs", { timeout: 300_000 }, async () => {
  const command = join(ROOT, "cli/windhover.mjs");
  const [before, after] = ["run: workspace", "run: element"].map((remark) => {
    const block = tutorial.blocks.find((one) => one.remark === remark) ?? assert.fail(remark);
    return splitLines(block.text).map((line) => splitWords(line));
  });
  const [, , ...init] = before?.[0] ?? assert.fail();
  await run(process.execPath, [command, ...init], { cwd: folder });
  const workspace = join(folder, before?.[1]?.[1] ?? assert.fail());
  const files = await fillWorkspace(tutorial, workspace);
  const real = testClip("vtest.avi");
  await copyFile(real ?? (await makeClip(folder, 10)), join(workspace, "clip.mp4"));
  const node = (...args: readonly string[]) =>
    run(process.execPath, args, { cwd: workspace, env: { ...process.env, NO_COLOR: "1" } });
  const tests = files.filter((file) => file.endsWith(".test.ts"));
  // `run` compiles the graph and loads every element, so that `check` and `inspect` need no test.
  const start = after?.find((words) => words.includes("run")) ?? assert.fail();
  const [printed] = await Promise.all([
    node(command, ...start.slice(2)),
    node("--import", "tsx", "--test", ...tests),
    run(join(ROOT, "node_modules/.bin/tsc"), ["--noEmit"], { cwd: workspace }),
  ]);
  const shown = tutorial.blocks.find(({ language }) => language === "text")?.text ?? assert.fail();
  assert.deepEqual(kindsOf(printed.stdout), kindsOf(shown));
  if (real !== null) assert.match(printed.stdout, /"occupancy":\{"count":[1-9]/);
});

test("every file is shown once", () => {
  for (const page of WRITTEN) {
    const files = page.blocks.flatMap((block) => fileOf(block) ?? []);
    assert.equal(new Set(files).size, files.length, page.path);
  }
});
