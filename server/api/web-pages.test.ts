import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openApp } from "./app.fixture.ts";
import { consoleEndpoints } from "./web-pages.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-console-"));
const ENTRIES = { "console/main.ts": "main-AAAAAAAA.js", "console/style/style.css": "style-BBBBBBBB.css" };
const SCRIPT = "main-AAAAAAAA.js";
let app: Awaited<ReturnType<typeof openApp>>;

before(async () => {
  writeFileSync(join(folder, SCRIPT), "export {};\n");
  app = await openApp(consoleEndpoints(folder, "https://example.org/eyes/"));
});
after(async () => {
  await app.close(0);
  rmSync(folder, { recursive: true, force: true });
});

test("explains how to build the console if it is missing, and serves it otherwise", async () => {
  const missing = await app.call("/console");
  assert.equal(missing.status, 503);
  assert.equal(((await missing.json()) as { code: string }).code, "console_not_built");
  writeFileSync(join(folder, "entries.json"), JSON.stringify(ENTRIES));
  // With a query for the script of the page.
  for (const path of ["/console", "/console/", "/console/processes/0198", "/console/graphs/detect/edit?at=3"]) {
    const answer = await app.call(path);
    assert.equal(answer.status, 200, path);
    assert.equal(answer.headers.get("cache-control"), "no-cache");
    assert.match(await answer.text(), /<base href="\/eyes\/">[\s\S]*src="console\/assets\/main-AAAAAAAA\.js"/);
  }
});

test("allows scripts of the service only, on every path", async () => {
  for (const path of ["/console", `/console/assets/${SCRIPT}`, "/console/assets/icon.svg"]) {
    const { headers } = await app.call(path);
    const policy = headers.get("content-security-policy") ?? "";
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';.*frame-ancestors 'none'$/, path);
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("referrer-policy"), "no-referrer");
  }
});

test("a bundled file is immutable, compressed or not", async () => {
  for (const encoding of ["identity", "gzip", "gzip"]) {
    const answer = await app.call(`/console/assets/${SCRIPT}`, { headers: { "accept-encoding": encoding } });
    assert.equal(answer.headers.get("content-encoding"), encoding === "gzip" ? "gzip" : null);
    assert.equal(answer.headers.get("cache-control"), "public, max-age=31536000, immutable");
    assert.equal(await answer.text(), "export {};\n");
  }
});

for (const file of [
  "entries.json",
  "part-CCCCCCCC.js",
  "..%2fentries.json",
  "%2e%2e%2f%2e%2e%2fpackage.json",
  "main-AAAAAAAA.js%00",
])
  test(`answers 404 for the file ${file}, not cacheable`, async () => {
    const answer = await app.call(`/console/assets/${file}`);
    assert.equal(answer.status, 404);
    assert.equal(answer.headers.get("cache-control"), "no-store");
  });
