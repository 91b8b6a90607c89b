import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { modelFolders } from "./cache.ts";
import { sketchDetector, sketchTflite } from "./convert/tiny-detector.fixture.ts";
import { findConverted } from "./converted.ts";
import { ModelFault, NotInstalled } from "./fault.ts";
import type { Fetching } from "./fetch/weights.ts";
import { digestBytes } from "./files.ts";
import { type FoundCard, findBuiltIn, findCard, getCommand, listCardFiles } from "./find-card.ts";
import { installModels } from "./install.ts";
import { listInt8Kernels } from "./int8-kernels.ts";
import { makeYolox } from "./onnx.fixture.ts";
import { isInstalled, openModel, weightsFile } from "./open.ts";
import { writeTflite } from "./tflite/read-model.fixture.ts";

/** The models in this machine's cache, read before the tests set their own cache folder. */
const REAL = weightsFile(findBuiltIn("default").card);

const folder = mkdtempSync(join(tmpdir(), "windhover-open-"));
after(() => rmSync(folder, { recursive: true, force: true }));
process.env.WINDHOVER_CACHE_DIR = join(folder, "cache");

const ONNX = makeYolox(80);
const card = (text = ""): string =>
  `model: mine\nabout: Mine.\nlicence: MIT\nsources: [{ path: mine.onnx }]\nsha256: ${digestBytes(ONNX)}\n` +
  `input: { width: 64, height: 64 }\nlabels: coco\ndecoder: { family: yolox }\n${text}`;

const FETCHING: Fetching = {
  ...{ report: () => {}, signal: new AbortController().signal, command: getCommand },
};

const takeReal = (found: FoundCard): FoundCard => ({ ...found, card: { ...found.card, sources: [{ path: REAL }] } });

test("names the install command for a missing model, and fetches nothing", async () => {
  await assert.rejects(
    openModel("quality"),
    /^NotInstalled: the model "quality" is not installed; run: npx windhover models get quality$/,
  );
  assert.equal(await isInstalled(findCard("quality")), false);
  assert.equal(existsSync(join(folder, "cache")), false);
});

test("lists the available models for an unknown name, and the closest one", async () => {
  await assert.rejects(
    openModel("defalt"),
    /^ModelFault: there is no model "defalt"; did you mean "default"\?\n {2}available: default, aerial, quality;/,
  );
});

test("opens a user's card with the file beside it", async () => {
  const file = join(folder, "mine.yaml");
  writeFileSync(file, card());
  writeFileSync(join(folder, "mine.onnx"), ONNX);
  const model = await openModel(file);
  assert.equal(model.file, join(folder, "mine.onnx"));
  assert.equal(model.labels.length, 80);
  writeFileSync(join(folder, "mine.onnx"), "something else");
  await assert.rejects(openModel(file), (error) => {
    assert.ok(error instanceof ModelFault && !(error instanceof NotInstalled));
    const [expected, found] = [digestBytes(ONNX), digestBytes("something else")];
    assert.equal(
      error.message,
      `${join(folder, "mine.onnx")} has another checksum than the card of "mine":\n` +
        `  expected sha256 ${expected}\n  found    sha256 ${found}\n` +
        `replace the file, correct the card, or run: npx windhover models get ${file} --weights FILE`,
    );
    return true;
  });
});

test("prefers a card in the user's folder to Windhover's of the same name", () => {
  const { cards } = modelFolders();
  mkdirSync(cards, { recursive: true });
  writeFileSync(join(cards, "aerial.yaml"), card().replace("mine", "aerial"));
  assert.deepEqual(
    listCardFiles().map(({ name, origin }) => `${name} ${origin}`),
    ["default windhover", "aerial yours", "quality windhover"],
  );
  assert.equal(findCard("aerial").card.about, "Mine.");
  rmSync(join(cards, "aerial.yaml"));
});

test("converts weights once, verifies them on opening and converts again after damage", {
  skip: !existsSync(REAL) && "the default model is not in the cache; `npx windhover models get default` fetches it",
}, async () => {
  const found = findCard("default");
  const files: string[] = [];
  await installModels([takeReal(found)], FETCHING, ({ file, fetched }) => {
    assert.ok(fetched);
    files.push(file);
  });
  const [file = ""] = files;
  assert.ok(file.endsWith(`-${digestBytes(readFileSync(file))}.onnx`));
  assert.equal((await openModel("default")).file, file);
  await installModels([takeReal(found)], FETCHING, ({ fetched }) => assert.equal(fetched, false));

  truncateSync(file, 1000);
  assert.equal((await openModel("default")).file, file);
  assert.ok(file.endsWith(`-${digestBytes(readFileSync(file))}.onnx`));
  const kept = readdirSync(modelFolders().converted).map((name) =>
    name.replace(/^.*(\.optimised|tuning\.json)$/, "$1"),
  );
  assert.deepEqual(kept.sort(), [".optimised", file.split("/").at(-1), "tuning.json"]);

  // Fewer classes are another network, of the same weights.
  const own = join(folder, "few.yaml");
  const text = readFileSync(found.file, "utf8").replace(
    "efficientdet-tflite }",
    "efficientdet-tflite, classes: [car, person] }",
  );
  writeFileSync(own, text.replace("model: default", "model: few"));
  const few = await openModel(own);
  assert.deepEqual(few.labels, ["car", "person"]);
  assert.notEqual(few.file, file);
});

test("reports damaged weights, and fetches them again", {
  skip: !existsSync(REAL) && "the default model is not in the cache",
}, async () => {
  const found = takeReal(findCard("default"));
  await installModels([found], FETCHING);
  rmSync(modelFolders().converted, { recursive: true, force: true });
  truncateSync(weightsFile(found.card), 4000);
  await assert.rejects(openModel("default"), (error) => {
    assert.ok(error instanceof ModelFault);
    return /is damaged:\n {2}expected sha256 [0-9a-f]{64}\n {2}found {4}sha256 [0-9a-f]{64}\nrun: npx windhover models get default$/.test(
      error.message,
    );
  });
  await installModels([found], FETCHING, ({ fetched }) => assert.equal(fetched, true));
  assert.ok(existsSync((await openModel("default")).file));
});

test("needs no conversion on any CPU after an install for every CPU", async () => {
  const file = join(folder, "tiny.yaml");
  const tflite = writeTflite(sketchTflite(sketchDetector(3)));
  writeFileSync(join(folder, "tiny.tflite"), tflite);
  writeFileSync(
    file,
    `model: tiny\nabout: Tiny.\nlicence: MIT\nsources: [{ path: tiny.tflite }]\nsha256: ${digestBytes(tflite)}\n` +
      `convert: { from: efficientdet-tflite }\ninput: { width: 128, height: 128, type: uint8, layout: nhwc, anchor: top-left }\n` +
      "labels: [bolt, nut, washer]\ndecoder: { family: efficientdet }\n",
  );
  const found = findCard(file);
  const added: string[] = [];
  await installModels([found], { ...FETCHING, everyCpu: true, onAdded: (path) => added.push(path) });
  const { convert } = found.card;
  assert.ok(convert);
  const made = await Promise.all(
    listInt8Kernels(process.arch).map((kernels) =>
      findConverted(found.card, convert, modelFolders().converted, kernels),
    ),
  );
  assert.deepEqual(added.slice(0, -2), [weightsFile(found.card), ...made]);
  assert.match(added.slice(-2).join(), /-tuning\.json,.*\.optimised$/);
  assert.ok(made.includes((await openModel(file)).file));
});

test("rejects weights that are not an EfficientDet, with the reason", async () => {
  const file = join(folder, "bad.yaml");
  const bad = Buffer.from("no tflite at all");
  writeFileSync(join(folder, "bad.tflite"), bad);
  writeFileSync(
    file,
    readFileSync(findCard("default").file, "utf8")
      .replace(/sources:[\s\S]*?sha256: \w+/, `sources: [{ path: bad.tflite }]\nsha256: ${digestBytes(bad)}`)
      .replace("model: default", "model: bad"),
  );
  await assert.rejects(openModel(file), /^ModelFault: the weights of bad cannot be converted to 320×320: /);
});
