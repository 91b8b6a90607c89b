import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { sketchDetector, sketchTflite } from "../../models/convert/tiny-detector.fixture.ts";
import { digestBytes } from "../../models/files.ts";
import { findBuiltIn, findCard } from "../../models/find-card.ts";
import { makeYolox } from "../../models/onnx.fixture.ts";
import { weightsFile } from "../../models/open.ts";
import { writeTflite } from "../../models/tflite/read-model.fixture.ts";
import { type Command, CommandFailure, readArguments, UsageFault } from "../command.ts";
import { StalledReader } from "../terminal.fixture.ts";
import { Terminal } from "../terminal.ts";
import { makeFolder, ROOT, spawnWindhover, windhover } from "../windhover.fixture.ts";
import {
  modelsGet as get,
  modelsImport as importModel,
  modelsList as list,
  modelsRemove as remove,
  modelsShow as show,
} from "./models.ts";

const SHARED = join(ROOT, "../shared/data/models");

const folder = makeFolder();
const cache = join(folder, "cache");
process.env.WINDHOVER_CACHE_DIR = cache;
const THREE = join(folder, "three-things.onnx");
writeFileSync(THREE, makeYolox(3));

/** A card of weights that have to be converted, which takes little time with these. */
const TINY = join(folder, "tiny.yaml");
const TINY_WEIGHTS = writeTflite(sketchTflite(sketchDetector(3)));
writeFileSync(join(folder, "tiny.tflite"), TINY_WEIGHTS);
writeFileSync(
  TINY,
  `model: tiny\nabout: Three things.\nlicence: MIT\nsources: [{ path: tiny.tflite }]\nsha256: ${digestBytes(TINY_WEIGHTS)}\n` +
    `input: { width: 128, height: 128, type: uint8, layout: nhwc, colours: rgb, fit: letterbox, anchor: top-left, padding: 127 }\n` +
    "convert: { from: efficientdet-tflite }\nlabels: [bolt, nut, washer]\ndecoder: { family: efficientdet }\n",
);

/** In this process; returns what was printed. */
async function run(command: Command, ...args: readonly string[]): Promise<string> {
  const out = new StalledReader();
  const err = new StalledReader();
  await Promise.all([out.read(), err.read()]);
  await command.run(readArguments(command, args), new Terminal(out, err, {}));
  return out.text;
}

const namesIn = (place: string): readonly string[] => {
  const path = join(cache, "models", place);
  return existsSync(path) ? readdirSync(path) : [];
};

const listCache = (): readonly string[] => [...namesIn("cards"), ...namesIn("weights"), ...namesIn("converted")];

test("lists the models and whether they are installed", async () => {
  const { code, lines } = await windhover(["models", "list"]);
  assert.equal(code, 0);
  assert.match(lines[0] ?? "", /^NAME +LICENCE +SIZE +INPUT +ABOUT$/);
  assert.match(lines[1] ?? "", /^default +- +Apache-2\.0 +4\.6 MB +320×320 +Fast: /);
  assert.equal(lines.length, 4);
});

test("loads no GStreamer: the set-up fetches the models before it builds the addon", async (t) => {
  process.env.WINDHOVER_ADDON = join(folder, "none.node");
  t.after(() => delete process.env.WINDHOVER_ADDON);
  const { code, stderr } = await spawnWindhover(["models", "list"]);
  assert.equal(code, 0, stderr);
});

test("marks an invalid card in the list", async () => {
  const file = join(cache, "models/cards/odd.yaml");
  mkdirSync(join(cache, "models/cards"), { recursive: true });
  writeFileSync(file, "model: odd\n");
  assert.match(await run(list), /^odd +invalid .*odd\.yaml:1:1: about is missing/m);
  const rows = JSON.parse(await run(list, "--json")) as { name: string; installed: boolean; fault?: string }[];
  assert.deepEqual(
    rows.map(({ name }) => name),
    ["default", "aerial", "quality", "odd"],
  );
  assert.match(rows[3]?.fault ?? "", /licence is missing/);
  rmSync(file);
});

test("a model is shown with everything, its card included", async () => {
  const text = await run(show, "quality");
  assert.match(text, /^installed +no; run: npx windhover models get quality$/m);
  assert.match(text, /^input +448×448 rgb uint8 nhwc, letterbox top-left on 127$/m);
  assert.ok(text.includes(readFileSync(join(ROOT, "models/cards/quality.yaml"), "utf8").trimEnd()));
  const shown = JSON.parse(await run(show, "quality", "--json")) as Record<string, unknown>;
  assert.deepEqual([shown.name, shown.installed, shown.onnx], ["quality", false, null]);
});

test("writes a card for an ONNX file, and finds the model by name", async () => {
  const args = [THREE, "--decoder", "yolox", "--labels", "bolt,nut,washer", "--licence", "MIT"];
  const text = await run(importModel, ...args, "--set", "thresholds.confidence=0.3");
  assert.match(text, /^input +64×64 bgr float32 nchw, letterbox top-left on 114$/m);
  assert.match(text, /^labels +3: bolt, nut, washer$/m);
  assert.match(text, /^thresholds +confidence 0\.3, weak 0\.1/m);
  assert.equal(findCard("three-things").card.sha256, digestBytes(makeYolox(3)));
  assert.match(await run(list), /^three-things +installed +MIT/m);
  await assert.rejects(
    run(importModel, ...args),
    /^UsageFault: the name "three-things" is taken: it is one of your models: .*three-things\.yaml\n {2}give another name with --name, or replace the model with --force$/,
  );
  await run(importModel, ...args, "--force");
  assert.equal(findCard("three-things").card.thresholds.confidence, 0.4);
});

test("a card of the user keeps its comments, and files that it names stay found", async () => {
  const card = join(folder, "card.yaml");
  writeFileSync(
    card,
    `# Bolts.\nmodel: bolts\nabout: Bolts.\nlicence: MIT\nsources: [{ path: three-things.onnx }]\n` +
      `sha256: ${digestBytes(makeYolox(3))}\ninput: { width: 64, height: 64 }\nlabels: [bolt, nut, washer]\ndecoder: { family: yolox }\n`,
  );
  await run(importModel, card);
  const { card: kept, file } = findCard("bolts");
  assert.deepEqual(kept.sources, [{ path: THREE }]);
  assert.match(readFileSync(file, "utf8"), /^# Bolts\.\n/);
});

test("rejects a model that does not fit, lists its tensors and leaves no files", async () => {
  const seven = join(folder, "seven.onnx");
  writeFileSync(seven, makeYolox(7));
  const before = [...namesIn("weights"), ...namesIn("cards")];
  await assert.rejects(run(importModel, seven, "--decoder", "yolox", "--labels", "a,b,c"), (error) => {
    assert.ok(error instanceof CommandFailure);
    assert.match(error.message, /^seven: the outputs of this model do not fit the decoder yolox of its card/);
    assert.match(error.message, /output: float32 \[1, 84, 12\]/);
    return true;
  });
  assert.deepEqual([...namesIn("weights"), ...namesIn("cards")], before);
});

test("rejects weights that cannot be converted, and leaves no files", async () => {
  const bad = Buffer.from("no tflite at all");
  writeFileSync(join(folder, "bad.tflite"), bad);
  const card = join(folder, "bad.yaml");
  writeFileSync(
    card,
    readFileSync(findBuiltIn("default").file, "utf8")
      .replace(/sources:[\s\S]*?sha256: \w+/, `sources: [{ path: bad.tflite }]\nsha256: ${digestBytes(bad)}`)
      .replace(/^bytes: .*$/m, "")
      .replace("model: default", "model: bad"),
  );
  const before = listCache();
  await assert.rejects(run(importModel, card), /the weights of bad cannot be converted/);
  assert.deepEqual(listCache(), before);
});

test("removes only the files of a rejected model", async () => {
  assert.ok(existsSync(weightsFile(findCard("three-things").card)));
  const before = listCache();
  const wrong = [THREE, "--decoder", "ssd", "--labels", "a,b,c", "--name", "wrong"];
  await assert.rejects(run(importModel, ...wrong), CommandFailure);
  assert.deepEqual(listCache(), before);
});

test("a conversion is taken back with its weights when the card cannot be kept", async () => {
  const inTheWay = join(cache, "models/cards/blocked.yaml");
  mkdirSync(inTheWay, { recursive: true });
  const before = listCache();
  await assert.rejects(run(importModel, TINY, "--name", "blocked", "--force"), /EISDIR/);
  assert.deepEqual(listCache(), before);
  rmSync(inTheWay, { recursive: true });
});

test("a card is shown although its files are wrong, and showing changes nothing", async () => {
  await run(importModel, TINY, "--name", "harmed");
  const { card } = findCard("harmed");
  for (const name of namesIn("converted"))
    if (name.startsWith("harmed-")) truncateSync(join(cache, "models/converted", name), 1000);
  const before = listCache();
  assert.match(await run(show, "harmed"), /^installed +yes; converted when it is first opened$/m);
  writeFileSync(weightsFile(card), "damaged");
  const text = await run(show, "harmed");
  assert.match(text, /^installed +no: .*\.tflite is damaged:$/m);
  assert.match(text, /^ +run: npx windhover models get harmed$/m);
  assert.match(text, /^model: harmed$/m);
  const shown = JSON.parse(await run(show, "harmed", "--json")) as Record<string, unknown>;
  assert.deepEqual([shown.installed, shown.onnx], [false, null]);
  assert.match(String(shown.fault), /is damaged/);
  assert.deepEqual(listCache(), before);
  await run(remove, "harmed");
  rmSync(weightsFile(card), { force: true });
});

test("suggests a command that installs the requested card", async () => {
  const card = join(folder, "not here.yaml");
  writeFileSync(
    card,
    "model: elsewhere\nabout: x\nlicence: MIT\nsources: [{ path: nowhere.onnx }]\n" +
      `sha256: ${"a".repeat(64)}\ninput: { width: 64, height: 64 }\nlabels: coco\ndecoder: { family: yolox }\n`,
  );
  const command = `npx windhover models get '${card}'`;
  assert.ok((await run(show, card)).replace(/\s+/g, " ").includes(` no; run: ${command} `));
  const shown = JSON.parse(await run(show, card, "--json")) as { get: string };
  assert.equal(shown.get, command);
  await assert.rejects(run(get, card), (error) => {
    assert.ok(error instanceof CommandFailure);
    return error.message.endsWith(`and run: ${command} --weights FILE`);
  });
});

test("a model of the user is removed with its files, but not those that another needs", async () => {
  await run(importModel, THREE, "--decoder", "yolox", "--labels", "a,b,c", "--name", "first");
  const { card, file } = findCard("first");
  const seven = join(folder, "seven-things.onnx");
  writeFileSync(seven, makeYolox(7));
  await run(importModel, seven, "--decoder", "yolox", "--labels", "a,b,c,d,e,f,g", "--name", "second");
  const second = findCard("second");
  const text = await run(remove, "first", "second");
  assert.deepEqual(
    [file, second.file, weightsFile(second.card)].map((path) => existsSync(path)),
    [false, false, false],
  );
  assert.ok(existsSync(weightsFile(card)), "three-things has the same weights");
  assert.ok(existsSync(THREE), "what was imported is not ours");
  for (const path of [file, second.file, weightsFile(second.card)]) assert.ok(text.includes(`  ${path}\n`), text);
});

test("a faulty card can be removed", async () => {
  const file = join(cache, "models/cards/odd.yaml");
  writeFileSync(file, "model: odd\n");
  assert.equal(await run(remove, "odd"), `odd  removed  0.0 MB  ${file}\n`);
  assert.equal(existsSync(file), false);
});

test("what stands before a model of Windhover is never taken for it, and can be removed", async () => {
  const args = [THREE, "--decoder", "yolox", "--labels", "a,b,c", "--name", "quality", "--force"];
  await run(importModel, ...args);
  assert.equal(findCard("quality").origin, "yours");
  const { file, askedFor, card } = findBuiltIn("quality");
  assert.deepEqual([askedFor, card.sha256.slice(0, 8)], [file, "6fd32c84"]);
  const byFile = findCard(file);
  assert.deepEqual([byFile.origin, byFile.askedFor], ["windhover", file]);
  assert.match(
    await run(remove, "quality"),
    /^quality {2}restored: the model included with Windhover; to install it, run: npx windhover models get quality$/m,
  );
  assert.deepEqual([findCard("quality").origin, findBuiltIn("quality").askedFor], ["windhover", "quality"]);
});

for (const [args, reason] of [
  [[], /missing: a NAME/],
  [["default"], /"default" is included with Windhover and cannot be removed; your models are /],
  [["three-thing"], /you have no model "three-thing"; did you mean "three-things"\?/],
  [["three-things", "models/cards/default.yaml"], /you have no model "models\/cards\/default\.yaml"/],
] as const)
  test(`rejects and removes nothing: models remove ${args.join(" ")}`, async () => {
    const before = listCache();
    await assert.rejects(run(remove, ...args), (error) => {
      assert.ok(error instanceof UsageFault, String(error));
      assert.match(error.message, reason);
      return true;
    });
    assert.deepEqual(listCache(), before);
  });

const NO_MODEL = join(folder, "no-model.onnx");
writeFileSync(NO_MODEL, "not at all");
const AS_YOLOX = [THREE, "--decoder", "yolox", "--labels", "a,b,c"];

const REFUSED: readonly [args: readonly string[], kind: typeof UsageFault | typeof CommandFailure, reason: RegExp][] = [
  [[NO_MODEL], CommandFailure, /no-model\.onnx cannot be opened as an ONNX model: /],
  [["nowhere.yaml"], UsageFault, /there is no file nowhere\.yaml; expected a card/],
  [["a.txt"], UsageFault, /"a\.txt" is neither a card \(\.yaml\) nor an ONNX file \(\.onnx\)/],
  [[], UsageFault, /missing: a card/],
  [[THREE, "--labels", "a,b,c"], UsageFault, /--decoder \(yolox and yolo fit\)\n {2}output: float32 \[1, 84, 8\]/],
  [[THREE, "--decoder", "yolx"], UsageFault, /--decoder is "yolx".*did you mean "yolox"\?/],
  [[...AS_YOLOX, "--size", "big"], UsageFault, /--size is "big"; expected WIDTHxHEIGHT/],
  [[...AS_YOLOX, "--size", "32x32"], UsageFault, /--size is 32x32, but the model only accepts 64x64/],
  [[...AS_YOLOX, "--name", "Bad Name"], UsageFault, /:1:8: model is "Bad Name"; expected text: Name of the model/],
  [
    [...AS_YOLOX, "--name", "x", "--set", "input.colour=bgr"],
    UsageFault,
    /input\.colour is not known here; .*did you mean "colours"\?/,
  ],
  [[...AS_YOLOX, "--name", "x", "--set", "colour"], UsageFault, /--set is "colour"; expected KEY=VALUE/],
  [[...AS_YOLOX, "--name", "default"], UsageFault, /the name "default" is taken: it is included with Windhover/],
  [["card.yaml", "--decoder", "yolox"], UsageFault, /--decoder is for ONNX files/],
];

for (const [args, kind, reason] of REFUSED)
  test(`rejects models import ${args.map((word) => word.replace(`${folder}/`, "")).join(" ")}`, async () => {
    await assert.rejects(run(importModel, ...args), (error) => {
      assert.ok(error instanceof kind, String(error));
      assert.match(error.message, reason);
      return true;
    });
  });

test("two processes that get the same model at once both have it", async () => {
  const command = ["models", "get", TINY, "--json"];
  const [one, other] = (await Promise.all([spawnWindhover(command), spawnWindhover(command)])).map(
    ({ code, stdout, stderr }) => {
      assert.equal(code, 0, stderr);
      return (JSON.parse(stdout) as { file: string }[])[0]?.file;
    },
  );
  assert.equal(one, other);
  assert.ok(existsSync(one ?? ""));
  assert.deepEqual(
    [...namesIn("weights"), ...namesIn("converted")].filter((name) => name.startsWith(".")),
    [],
  );
});

test("rejects other weights with both digests", async () => {
  await assert.rejects(
    run(get, "quality", "--weights", THREE),
    /expected sha256 6fd32c84[0-9a-f]{56} and 7557887 bytes\n +found +sha256 [0-9a-f]{64} and \d+ bytes/,
  );
  await assert.rejects(run(get, "--weights", THREE), /^UsageFault: --weights is the file of one model/);
});

for (const [file, args, family] of [
  ["yolox_nano_416.onnx", ["--decoder", "yolox"], "yolox"],
  ["picodet_s_416_coco.onnx", [], "picodet"],
] as const)
  test(`${file} is imported as people bring it`, {
    skip: !existsSync(SHARED) && "no evaluation data here",
  }, async () => {
    const text = await run(importModel, join(SHARED, file), ...args, "--json");
    const [summary] = JSON.parse(text) as { decoder: { family: string }; input: { width: number } }[];
    assert.deepEqual([summary?.decoder.family, summary?.input.width], [family, 416]);
  });
