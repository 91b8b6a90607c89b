import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { after, test } from "node:test";
import { define, makeUser, openApp, SHAPE, type TestApp } from "./app.fixture.ts";
import type { AnyEndpoint } from "./endpoint.ts";

const where: AnyEndpoint = define("GET", "/where", "getWhere", {
  ...SHAPE,
  handle: ({ publicUrl, address }) => ({ status: 200, body: { publicUrl, address } }),
});

const opened: TestApp[] = [];
after(() => Promise.all(opened.map((app) => app.close(0))));
async function open(settings: Record<string, string>, endpoint = where, more = {}): Promise<TestApp> {
  const app = await openApp([endpoint], { settings, ...more });
  opened.push(app);
  return app;
}

const FORWARDED = {
  "x-forwarded-for": "203.0.113.9, 198.51.100.7, 10.1.2.3",
  "x-forwarded-proto": "https",
  "x-forwarded-host": "api.example.com",
};

test("trusts `X-Forwarded-*` of trusted proxies only, up to the first untrusted address", async () => {
  const stranger = await open({});
  assert.deepEqual(await (await stranger.call("/where", { headers: FORWARDED })).json(), {
    publicUrl: stranger.url,
    address: "127.0.0.1",
  });
  const proxied = await open({ HTTP_TRUSTED_PROXIES: "127.0.0.0/8,10.0.0.0/8" });
  assert.deepEqual(await (await proxied.call("/where", { headers: FORWARDED })).json(), {
    publicUrl: "https://api.example.com",
    address: "198.51.100.7",
  });
  const nonsense = { "x-forwarded-for": "evil", "x-forwarded-proto": "gopher", "x-forwarded-host": "a/b" };
  assert.deepEqual(await (await proxied.call("/where", { headers: nonsense })).json(), {
    publicUrl: proxied.url,
    address: "127.0.0.1",
  });
});

test("returns the configured public URL unchanged", async () => {
  const app = await open({ PUBLIC_URL: "https://video.example.com/" });
  const { publicUrl } = (await (await app.call("/where")).json()) as { publicUrl: string };
  assert.equal(publicUrl, "https://video.example.com");
});

test("allows cross-origin requests from configured origins only", async () => {
  const app = await open({ HTTP_CORS_ORIGINS: "https://console.example.com" });
  const preflight = (origin: string) =>
    app.call("/where", { method: "OPTIONS", headers: { origin, "access-control-request-method": "GET" } });
  const allowed = await preflight("https://console.example.com");
  assert.equal(allowed.headers.get("access-control-allow-origin"), "https://console.example.com");
  assert.match(allowed.headers.get("access-control-allow-headers") ?? "", /api_key/);
  assert.equal(allowed.headers.get("access-control-allow-methods"), "GET, HEAD, OPTIONS");
  const other = await preflight("https://evil.example.com");
  assert.equal(other.headers.get("access-control-allow-origin"), null);
  assert.equal(other.headers.get("vary"), "Origin");
  const failed = await app.call("/nothing", { headers: { origin: "https://console.example.com" } });
  assert.equal(failed.headers.get("access-control-allow-origin"), "https://console.example.com");
  await failed.text();
  const slashed = await open({ HTTP_CORS_ORIGINS: "https://console.example.com/" });
  const same = await slashed.call("/where", { headers: { origin: "https://console.example.com" } });
  assert.equal(same.headers.get("access-control-allow-origin"), "https://console.example.com");
  await same.text();
  const page = await slashed.call("/docs", { headers: { origin: "https://console.example.com" } });
  assert.equal(page.headers.get("vary"), "Accept-Encoding, Origin");
  await page.text();
  const anyOrigin = await open({ HTTP_CORS_ORIGINS: "*" });
  const answered = await anyOrigin.call("/where", { headers: { origin: "https://evil.example.com" } });
  assert.equal(answered.headers.get("access-control-allow-origin"), "*");
  await answered.text();
});

test("a key at its request limit gets `Retry-After`; other keys are not affected", async () => {
  const users = { slow: makeUser("slow", { requestsPerMinute: 2 }), quick: makeUser("quick") };
  const app = await open(
    {},
    { ...where, access: "key" },
    {
      authenticate: async (key: "slow" | "quick") => users[key],
    },
  );
  const ask = async (key: string) => {
    const response = await app.call("/where", { headers: { api_key: key } });
    await response.text();
    return response;
  };
  const allowed = [await ask("slow"), await ask("slow")];
  assert.deepEqual(
    allowed.map(({ status, headers }) => [
      status,
      headers.get("ratelimit-policy"),
      headers.get("ratelimit")?.slice(0, 9),
    ]),
    [
      [200, '"key";q=2;w=60', '"key";r=1'],
      [200, '"key";q=2;w=60', '"key";r=0'],
    ],
  );
  const rejected = await ask("slow");
  assert.equal(rejected.status, 429);
  assert.match(rejected.headers.get("ratelimit") ?? "", /^"key";r=0;t=\d+$/);
  const wait = Number(rejected.headers.get("retry-after"));
  assert.ok(wait >= 1 && wait <= 30, String(wait));
  assert.equal((await ask("quick")).status, 200);
});

test("serves TLS with a certificate, and sends HSTS", async () => {
  const folder = mkdtempSync(join(tmpdir(), "windhover-tls-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost";
  execFileSync("openssl", [...options.split(" "), "-keyout", key, "-out", cert], { stdio: "ignore" });
  const app = await open({ HTTP_TLS_CERT: cert, HTTP_TLS_KEY: key });
  assert.match(app.url, /^https:/);
  const ask = (path: string, headers = {}) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      request(`${app.url}${path}`, { rejectUnauthorized: false, agent: false, headers }, resolve)
        .on("error", reject)
        .end();
    });
  const answer = await ask("/where");
  assert.deepEqual(await json(answer), { publicUrl: app.url, address: "127.0.0.1" });
  const others = [await ask("/nowhere"), await ask("/where", { expect: "100-continue" })];
  for (const { headers, statusCode } of [answer, ...others])
    assert.equal(headers["strict-transport-security"], "max-age=31536000", String(statusCode));
  for (const other of others) other.resume();
  const plain = await (await open({})).call("/where");
  assert.equal(plain.headers.get("strict-transport-security"), null);
});

for (const [name, settings, message] of [
  ["a proxy that is not an address", { HTTP_TRUSTED_PROXIES: "10.0.0.0/99" }, /trusted_proxies/],
  ["a missing certificate", { HTTP_TLS_CERT: "/nowhere/c", HTTP_TLS_KEY: "/nowhere/k" }, /tls_cert/],
  ["an address of another machine", { HTTP_HOST: "203.0.113.1" }, /cannot listen on 203\.0\.113\.1:0: this machine/],
] as const)
  test(`${name} is rejected with an explanation`, async () => {
    await assert.rejects(openApp([where], { settings }), message);
  });

test("a port in use is reported with an explanation", async () => {
  const first = await open({});
  await assert.rejects(
    openApp([where], { settings: { HTTP_PORT: String(first.port) } }),
    /another program listens on this port/,
  );
});
