import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { areModelsThere, installModels } from "./models.mjs";

const root = mkdtempSync(join(tmpdir(), "windhover-setup-"));
after(() => rmSync(root, { recursive: true, force: true }));
for (const folder of ["models/cards", "cli"]) mkdirSync(join(root, folder), { recursive: true });
const card = join(root, "models/cards/default.yaml");
const model = join(root, "default.onnx");

/** Stands for the command; `broken` are models that it cannot get. */
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

test("models are there once they were got, until a card changes or a file goes", async () => {
  writeFileSync(card, "one");
  writeCommand([]);
  assert.equal(areModelsThere(root), false);
  assert.deepEqual(await install(), { note: undefined, progress: ["fetching", "fetching"] });
  assert.equal(areModelsThere(root), true);
  writeFileSync(card, "two");
  assert.equal(areModelsThere(root), false);
  await install();
  rmSync(model);
  assert.equal(areModelsThere(root), false);
});

for (const [what, content] of [
  ["empty", () => ""],
  ["cut", (whole: string) => whole.slice(0, -5)],
  ["another kind of JSON", () => '{"made":1}'],
] as const)
  test(`a stamp that is ${what} counts as none, and is written anew`, async () => {
    const stamp = join(root, "build/models.stamp");
    await install();
    assert.equal(areModelsThere(root), true);
    writeFileSync(stamp, content(readFileSync(stamp, "utf8")));
    assert.equal(areModelsThere(root), false);
    await install();
    assert.equal(areModelsThere(root), true);
    assert.deepEqual(readdirSync(join(root, "build")), ["models.stamp"]);
  });

test("without one that is only wanted it goes on, and says why", async () => {
  writeCommand(["quality"]);
  const { note } = await install();
  assert.match(
    note ?? "",
    /^no network for quality\nEverything else works without\. To try again: npx windhover models get$/,
  );
  assert.equal(areModelsThere(root), true);
});

test("without the one that is needed it fails with the reason", async () => {
  writeFileSync(card, "three");
  writeCommand(["default"]);
  await assert.rejects(install(), /^Error: no network for default$/);
  assert.equal(areModelsThere(root), false);
});
