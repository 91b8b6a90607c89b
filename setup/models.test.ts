import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { areModelsInstalled, installModels } from "./models.mjs";

const root = mkdtempSync(join(tmpdir(), "windhover-setup-"));
after(() => rmSync(root, { recursive: true, force: true }));
for (const folder of ["models/cards", "cli"]) mkdirSync(join(root, folder), { recursive: true });
const card = join(root, "models/cards/default.yaml");
const model = join(root, "default.onnx");

/** A fake `windhover` command; it fails for the models in `broken`. */
function writeCommand(broken: readonly string[]): void {
  writeFileSync(
    join(root, "cli/windhover.mjs"),
    `import { writeFileSync } from "node:fs";
    import { basename, dirname } from "node:path";
    const cards = process.argv.slice(4, -1);
    if (cards.some((card) => card !== "plates" && dirname(card) !== ${JSON.stringify(join(root, "models/cards"))})) process.exit(2);
    const names = cards.map((card) => basename(card, ".yaml"));
    console.error(JSON.stringify({ type: "progress", text: "fetching" }));
    const broken = names.find((name) => ${JSON.stringify(broken)}.includes(name));
    if (broken !== undefined) {
      console.error(JSON.stringify({ type: "error", message: "no network for " + broken }));
      process.exit(1);
    }
    writeFileSync(${JSON.stringify(model)}, "onnx");
    console.log(JSON.stringify(names.map((name) => ({ name, file: ${JSON.stringify(model)}, bytes: 4 })), null, 2));`,
  );
}

const install = async (): Promise<{ note: string | undefined; progress: readonly string[] }> => {
  const progress: string[] = [];
  const note = await installModels(root, { onProgress: (text: string) => progress.push(text) });
  return { note, progress };
};

test("models are installed until a card changes or a file is removed", async () => {
  writeFileSync(card, "one");
  writeCommand([]);
  assert.equal(areModelsInstalled(root), false);
  assert.deepEqual(await install(), { note: undefined, progress: ["fetching", "fetching"] });
  assert.equal(areModelsInstalled(root), true);
  writeFileSync(card, "two");
  assert.equal(areModelsInstalled(root), false);
  await install();
  rmSync(model);
  assert.equal(areModelsInstalled(root), false);
});

for (const [what, content] of [
  ["empty", () => ""],
  ["cut", (whole: string) => whole.slice(0, -5)],
  ["another kind of JSON", () => '{"made":1}'],
] as const)
  test(`a stamp that is ${what} counts as missing and is rewritten`, async () => {
    const stamp = join(root, "build/models.stamp");
    await install();
    assert.equal(areModelsInstalled(root), true);
    writeFileSync(stamp, content(readFileSync(stamp, "utf8")));
    assert.equal(areModelsInstalled(root), false);
    await install();
    assert.equal(areModelsInstalled(root), true);
    assert.deepEqual(readdirSync(join(root, "build")), ["models.stamp"]);
  });

test("continues without an optional model and returns the reason", async () => {
  writeCommand(["quality"]);
  const { note } = await install();
  assert.match(
    note ?? "",
    /^no network for quality\nEverything else works without it\. To retry: npx windhover models get$/,
  );
  assert.equal(areModelsInstalled(root), true);
});

test("fails with the reason without the required model", async () => {
  writeFileSync(card, "three");
  writeCommand(["default"]);
  await assert.rejects(install(), /^Error: no network for default$/);
  assert.equal(areModelsInstalled(root), false);
});
