import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get as getHttp } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { ModelCard, ModelSource } from "../card.ts";
import { digestBytes } from "../digest.ts";
import { ModelFault } from "../fault.ts";
import { getCommand } from "../get-command.ts";
import { parseCard } from "../read-card.ts";
import { StorageFault } from "../write-file.ts";
import type { Get } from "./from-url.ts";
import { startRegistry } from "./npm-registry.fixture.ts";
import { type Fetching, WeightsFetcher } from "./weights.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-weights-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const WEIGHTS = Buffer.alloc(200_000, "weights");
const OTHERS = Buffer.from("others");
const registry = await startRegistry("some-model", { "package/a.onnx": WEIGHTS, "package/b.onnx": OTHERS });
writeFileSync(join(folder, "here.onnx"), WEIGHTS);
writeFileSync(join(folder, "wrong.onnx"), OTHERS);

const inPackage = (member: string, integrity = registry.integrity): ModelSource => ({
  ...{ npm: "some-model@1.0.0", integrity, member },
});

const cardOf = (...sources: readonly ModelSource[]): ModelCard => ({
  ...parseCard(
    `{ model: mine, about: x, licence: MIT, sources: [{ path: x }], sha256: ${digestBytes(WEIGHTS)}, ` +
      "input: { width: 64, height: 64 }, labels: coco, decoder: { family: yolox } }",
    "card.yaml",
  ),
  sources: [...sources],
});

const fetching = (signal = new AbortController().signal): Fetching => ({
  ...{ report: () => {}, signal, command: getCommand },
});

let count = 0;

/** Returns what lies in the folder afterwards. */
async function fetchAll(cards: readonly ModelCard[], order = fetching()): Promise<readonly string[]> {
  const place = join(folder, `place-${count++}`);
  const fetcher = new WeightsFetcher(place, order);
  try {
    for (const [i, card] of cards.entries())
      await fetcher.fetch(
        { card, file: join(folder, "card.yaml"), askedFor: "here/my card.yaml" },
        join(place, `${i}.onnx`),
      );
    for (const i of cards.keys()) assert.deepEqual(readFileSync(join(place, `${i}.onnx`)), WEIGHTS);
  } finally {
    await fetcher[Symbol.asyncDispose]();
    assert.deepEqual(
      readdirSync(place).filter((name) => name.startsWith(".")),
      [],
      "something half-done is left",
    );
  }
  return readdirSync(place);
}

const faultOf = async (...sources: readonly ModelSource[]): Promise<string> => {
  const fault: unknown = await fetchAll([cardOf(...sources)]).catch((error: unknown) => error);
  assert.ok(fault instanceof ModelFault, String(fault));
  return fault.message;
};

test("a member of a package comes through the real npm, and its tarball once for all who need it", async () => {
  const before = registry.fetches();
  assert.deepEqual(await fetchAll([cardOf(inPackage("package/a.onnx")), cardOf(inPackage("package/a.onnx"))]), [
    "0.onnx",
    "1.onnx",
  ]);
  assert.ok(registry.fetches() - before <= 1);
});

test("a file beside the card is found", async () => {
  assert.deepEqual(await fetchAll([cardOf({ path: "here.onnx" })]), ["0.onnx"]);
});

test("the next source is tried when one fails, in the order of the card", async () => {
  assert.deepEqual(await fetchAll([cardOf({ path: "nowhere.onnx" }, { path: "wrong.onnx" }, { path: "here.onnx" })]), [
    "0.onnx",
  ]);
});

test("when all fail each is named with its reason, and what can be done", async () => {
  const other = `sha512-${"A".repeat(86)}==`;
  const message = await faultOf(
    inPackage("package/a.onnx", other),
    inPackage("package/c.onnx"),
    { ...inPackage("package/a.onnx"), npm: "unknown-model@1.0.0" },
    { path: "wrong.onnx" },
  );
  assert.match(message, /^the weights of mine cannot be had\. Tried:\n/);
  assert.ok(
    message.includes(
      `the tarball is not the one the card means:\n      expected ${other}\n      found    ${registry.integrity}`,
    ),
  );
  assert.match(
    message,
    /npm some-model@1\.0\.0, package\/c\.onnx\n {4}the archive holds no package\/c\.onnx; it holds package\/[ab]\.onnx/,
  );
  assert.match(message, /npm unknown-model@1\.0\.0, package\/a\.onnx\n {4}the registry does not have it: /);
  const [expected, found] = [digestBytes(WEIGHTS), digestBytes(OTHERS)];
  assert.ok(
    message.includes(
      `the file is not the one the card means:\n      expected sha256 ${expected}\n      found    sha256 ${found}`,
    ),
  );
  assert.ok(message.endsWith("npx windhover models get 'here/my card.yaml' --weights FILE"));
});

test("a member with other bytes than the card says is refused", async () => {
  assert.match(await faultOf(inPackage("package/b.onnx")), /expected sha256/);
});

/** `npm_execpath` is the npm that is run. */
async function withNpm<T>(script: string, work: () => Promise<T>): Promise<T> {
  const before = process.env.npm_execpath;
  mkdirSync(join(folder, "npm"), { recursive: true });
  process.env.npm_execpath = join(folder, "npm/npm-cli.js");
  writeFileSync(process.env.npm_execpath, script);
  try {
    return await work();
  } finally {
    if (before === undefined) delete process.env.npm_execpath;
    else process.env.npm_execpath = before;
  }
}

for (const [how, script] of [
  ["says", 'console.log(JSON.stringify({ error: { code: "ENOSPC", summary: "write" } })); process.exitCode = 1;'],
  ["dies of it", 'throw Object.assign(new Error("EDQUOT: quota exceeded, write"), { code: "EDQUOT" });'],
] as const)
  test(`a disk that is full while npm fetches is no fault of the source, when npm ${how}`, async () => {
    const cards = [cardOf(inPackage("package/a.onnx"), { path: "here.onnx" })];
    await assert.rejects(
      withNpm(script, () => fetchAll(cards)),
      (error) => {
        assert.ok(error instanceof StorageFault, String(error));
        return /npm has no room on the disk.*\nmake room, or set WINDHOVER_CACHE_DIR/.test(error.message);
      },
    );
  });

test("what is no file, or longer than the card says, is not copied", async () => {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  const message = await faultOf({ path: "pipe" }, { path: "/dev/zero" }, { path: "." });
  assert.match(message, /file pipe\n {4}it is a pipe or a device; expected a file\n/);
  assert.match(message, /file \/dev\/zero\n {4}it is a pipe or a device/);
  assert.match(message, /file \.\n {4}it is a folder\n/);
  const short = WEIGHTS.length - 1;
  await assert.rejects(
    fetchAll([{ ...cardOf({ path: "here.onnx" }, inPackage("package/a.onnx")), bytes: short }]),
    (error) => {
      assert.match(String(error), new RegExp(`it has ${WEIGHTS.length} bytes; at most ${short} were expected`));
      assert.match(String(error), new RegExp(`package/a\\.onnx\n {4}it is longer than the ${short} bytes`));
      return true;
    },
  );
});

test("copying a file here can be interrupted", async () => {
  writeFileSync(join(folder, "long.onnx"), Buffer.alloc(4_000_000));
  const stop = new AbortController();
  const order = { ...fetching(stop.signal), report: () => stop.abort() };
  await assert.rejects(fetchAll([cardOf({ path: "long.onnx" })], order), /^ModelFault: mine: interrupted$/);
});

test("only behind a proxy is it said that https sources do not use one", async () => {
  const refuse: Get = (_, options, answered) =>
    getHttp("http://127.0.0.1:1/", { ...(options.signal && { signal: options.signal }) }, answered);
  const ask = (): Promise<string> =>
    fetchAll([cardOf({ url: "https://models.example/a.onnx" })], { ...fetching(), get: refuse }).then(
      () => "",
      (error: Error) => error.message,
    );
  const before = { ...process.env };
  for (const name of Object.keys(process.env)) if (/_proxy$/i.test(name)) delete process.env[name];
  try {
    assert.doesNotMatch(await ask(), /prox/i);
    process.env.HTTPS_PROXY = "http://proxy.example:3128";
    assert.match(
      await ask(),
      /Proxies are not used for https sources, although HTTPS_PROXY is set; --weights FILE does without\.\n/,
    );
    assert.doesNotMatch(await faultOf({ path: "nowhere.onnx" }), /prox/i);
  } finally {
    delete process.env.HTTPS_PROXY;
    Object.assign(process.env, before);
  }
});

test("an interruption is no fault of the sources", async () => {
  const stop = new AbortController();
  stop.abort();
  await assert.rejects(
    fetchAll([cardOf(inPackage("package/a.onnx"))], fetching(stop.signal)),
    /^ModelFault: mine: interrupted$/,
  );
});
