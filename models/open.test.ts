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
import { type FoundCard, findCard, getCommand, listCardFiles } from "./find-card.ts";
import { installModels } from "./install.ts";
import { listInt8Kernels } from "./int8-kernels.ts";
import { makeYolox } from "./onnx.fixture.ts";
import { loadOnnxruntime } from "./onnxruntime.ts";
import { isInstalled, openModel, openTuned, weightsFile } from "./open.ts";
import { findOptimised } from "./optimised.ts";
import { writeTflite } from "./tflite/read-model.fixture.ts";
import { writeTuning } from "./tuning.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-open-"));
const usual = process.env.WINDHOVER_CACHE_DIR;
process.env.WINDHOVER_CACHE_DIR = join(folder, "cache");
after(() => {
  if (usual === undefined) delete process.env.WINDHOVER_CACHE_DIR;
  else process.env.WINDHOVER_CACHE_DIR = usual;
  rmSync(folder, { recursive: true, force: true });
});

const ONNX = makeYolox(80);
const card = (text = ""): string =>
  `model: mine\nabout: Mine.\nlicence: MIT\nsources: [{ path: mine.onnx }]\nsha256: ${digestBytes(ONNX)}\n` +
  `input: { width: 64, height: 64 }\nlabels: coco\ndecoder: { family: yolox }\n${text}`;

const FETCHING: Fetching = {
  ...{ report: () => {}, signal: new AbortController().signal, command: getCommand },
};

const TINY = writeTflite(sketchTflite(sketchDetector(3)));
const ORT_VERSION = (await loadOnnxruntime()).env.versions.node ?? "";

/** A card whose weights are converted, of this name. */
function writeTiny(name: string, options = ""): FoundCard {
  const file = join(folder, `${name}.yaml`);
  writeFileSync(join(folder, "tiny.tflite"), TINY);
  writeFileSync(
    file,
    `model: ${name}\nabout: Tiny.\nlicence: MIT\nsources: [{ path: tiny.tflite }]\nsha256: ${digestBytes(TINY)}\n` +
      `convert: { from: efficientdet-tflite${options} }\ninput: { width: 128, height: 128, type: uint8, layout: nhwc, anchor: top-left }\n` +
      "labels: [bolt, nut, washer]\ndecoder: { family: efficientdet }\n",
  );
  return findCard(file);
}

/** What was made of the weights of a model. */
const listMade = (name: string): readonly string[] =>
  readdirSync(modelFolders().converted)
    .filter((file) => file.startsWith(`${name}-128x128-`))
    .map((file) => join(modelFolders().converted, file))
    .sort();

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

test("converts weights once, verifies them on opening and converts again after damage", async () => {
  const found = writeTiny("once");
  const added: string[] = [];
  await installModels([found], { ...FETCHING, onAdded: (path) => added.push(path) }, ({ fetched }) =>
    assert.ok(fetched),
  );
  const { file } = await openModel(found.file);
  assert.ok(file.endsWith(`-${digestBytes(readFileSync(file))}.onnx`));
  await installModels([found], { ...FETCHING, onAdded: () => assert.fail("nothing is new") }, ({ fetched }) =>
    assert.equal(fetched, false),
  );

  truncateSync(file, 1000);
  assert.equal((await openModel(found.file)).file, file);
  assert.ok(file.endsWith(`-${digestBytes(readFileSync(file))}.onnx`));
  assert.deepEqual(
    listMade("once"),
    added.filter((path) => existsSync(path) && path !== weightsFile(found.card)).sort(),
  );

  // Fewer classes are another network, of the same weights.
  const few = await openModel(writeTiny("few", ", classes: [nut, bolt]").file);
  assert.deepEqual(few.labels, ["nut", "bolt"]);
  assert.notEqual(few.file, file);
});

test("reports damaged weights, and fetches them again", async () => {
  const found = writeTiny("damaged");
  await installModels([found], FETCHING);
  rmSync(modelFolders().converted, { recursive: true, force: true });
  rmSync(join(folder, "tiny.tflite"));
  truncateSync(weightsFile(found.card), 4000);
  await assert.rejects(openModel(found.file), (error) => {
    assert.ok(error instanceof ModelFault);
    return /is damaged:\n {2}expected sha256 [0-9a-f]{64}\n {2}found {4}sha256 [0-9a-f]{64}\nrun: npx windhover models get .*damaged\.yaml$/.test(
      error.message,
    );
  });
  writeTiny("damaged");
  await installModels([found], FETCHING, ({ fetched }) => assert.equal(fetched, true));
  assert.ok(existsSync((await openModel(found.file)).file));
});

test("needs no conversion on any CPU after an install for every CPU", async () => {
  const found = writeTiny("every");
  const added: string[] = [];
  await installModels([found], { ...FETCHING, everyCpu: true, onAdded: (path) => added.push(path) });
  const { convert = assert.fail() } = found.card;
  const made = await Promise.all(
    listInt8Kernels(process.arch).map((kernels) =>
      findConverted(found.card, convert, modelFolders().converted, kernels),
    ),
  );
  assert.deepEqual(added.slice(0, made.length), made);
  assert.deepEqual(added.filter(existsSync).sort(), listMade("every"));
  assert.ok(made.includes((await openModel(found.file)).file));
});

for (const precision of ["int8", "float32"] as const)
  test(`installs the network in ${precision} where that takes less time, and names every new file`, async () => {
    const found = writeTiny(`in-${precision}`);
    const { file: int8 } = await openModel(found.file);
    const measured = [{ precision, threads: 1, ms: 1, cpuMs: 1 }];
    const tuning = await writeTuning(found.card, int8, { precision, threads: 1, measured });
    const added: string[] = [];
    await installModels([found], { ...FETCHING, onAdded: (path) => added.push(path) });
    const { file } = await openTuned(found.file);
    assert.equal(file === int8, precision === "int8");
    const networks = [...new Set([int8, file])];
    const optimised = await Promise.all(networks.map((one) => findOptimised(one, ORT_VERSION)));
    assert.deepEqual([...networks, ...optimised, tuning].sort(), listMade(found.card.model));
    const isNew = (path: string | null) => path !== int8;
    assert.deepEqual(added, [...networks, ...optimised].filter(isNew));
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
