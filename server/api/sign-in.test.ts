import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Type } from "typebox";
import { poll } from "../../test/watch.fixture.ts";
import { Authenticator, findKeyIn, LoginGate } from "../keys/authenticate.ts";
import { createKey } from "../keys/keys.ts";
import { Oidc, readRole } from "../keys/oidc.ts";
import { SESSION_COOKIE } from "../keys/sessions.ts";
import { StillMedia } from "../media/media.fixture.ts";
import { KEY_ORDER } from "../media/media-service.fixture.ts";
import { silentLog, testDatabase } from "../store/database.fixture.ts";
import { makeConfig, openApp, type TestApp } from "./app.fixture.ts";
import { defineEndpoints, ok } from "./endpoint.ts";
import { Browser, CLIENT, openProvider, type People } from "./identity-provider.fixture.ts";
import { informationEndpoints } from "./information.ts";
import { signInEndpoints } from "./sign-in.ts";

const database = await testDatabase();
const { sql } = database;
await createKey(sql, { ...KEY_ORDER, username: "acme" });
await createKey(sql, { ...KEY_ORDER, username: "north" });

const PEOPLE: People = {
  ada: { roles: ["staff", "wh-admin"] },
  bob: { roles: ["wh-viewer"], tenant: "north" },
  eve: { roles: ["staff"] },
  joe: {},
  lost: { roles: ["wh-viewer"], tenant: "nowhere" },
};
const define = defineEndpoints("Operations");
const Empty = { 200: { description: "Done.", schema: Type.Object({}) } };
const CHANGE = define("POST", "/change", "change", { summary: "Change", answers: Empty, handle: () => ok({}) });

const opened: { close(grace: number): Promise<void> }[] = [];
after(async () => {
  for (const one of opened) await one.close(0);
  await database.close();
});

async function open(settings: Record<string, string> = {}, isLean = false) {
  let app: TestApp | null = null;
  const provider = await openProvider(PEOPLE, () => `${app?.url}/sign_in/oidc/callback`, { isLean });
  opened.push(provider);
  const oidcSettings = {
    ...{ OIDC_ISSUER: provider.issuer, OIDC_CLIENT_ID: CLIENT.id, OIDC_CLIENT_SECRET: CLIENT.secret },
    ...{ OIDC_VIEWERS: "wh-viewer", OIDC_OPERATORS: "wh-operator", OIDC_ADMINS: "wh-admin,root" },
    ...{ OIDC_ACCOUNT: "acme", OIDC_ACCOUNT_CLAIM: "tenant", OIDC_NAME: "Example" },
    ...settings,
  };
  const config = makeConfig(oidcSettings);
  const gate = new LoginGate(100);
  const oidc = new Oidc({ sql, config: config.oidc, log: silentLog, secret: Buffer.alloc(32, 7) });
  app = await openApp(
    [
      ...signInEndpoints({ sql, oidc, sessionSeconds: config.oidc.session_seconds, gate }),
      ...informationEndpoints({ sql, softwareVersion: "0.1.0", components: async () => ({}), media: new StillMedia() }),
      CHANGE,
    ],
    { settings: oidcSettings, authenticate: new Authenticator(findKeyIn(sql, config), gate).authenticate },
  );
  opened.push(app);
  return { app, begin: `${app.url}/sign_in/oidc`, provider };
}

const SAME = { "sec-fetch-site": "same-origin" };
const codeOf = async (response: Response) => ((await response.json()) as { code: string }).code;
const locationOf = (response: Response) => response.headers.get("location");

const { app, begin, provider } = await open();

test("a person signs in with the role and the account of its claims, and out", async () => {
  const options = (await (await app.call("/sign_in")).json()) as object;
  assert.deepEqual(options, { signed_in: false, oidc: { name: "Example", url: begin } });
  for (const [login, username, scopes] of [
    ["ada", "acme", ["admin"]],
    ["bob", "north", ["read"]],
  ] as const) {
    const browser = new Browser();
    const back = await browser.signIn(begin, login);
    assert.deepEqual([back.status, locationOf(back)], [303, "/console"]);
    const cookie = back.headers.getSetCookie().find((text) => text.startsWith(SESSION_COOKIE)) ?? "";
    assert.match(cookie, /; Path=\/; Max-Age=28800; HttpOnly; SameSite=Strict$/);
    const login_ = (await (await browser.fetch(`${app.url}/login`, { headers: SAME })).json()) as {
      username: string;
      key: { person: string; scopes: string[] };
    };
    assert.deepEqual([login_.username, login_.key.person, login_.key.scopes], [username, login, scopes]);
    const changed = await browser.fetch(`${app.url}/change`, { method: "POST", headers: SAME });
    assert.equal(changed.status, login === "ada" ? 200 : 403);
    const session = browser.cookiesOf(app.url).get(SESSION_COOKIE) ?? "";
    const [kept] = await sql`select from api_keys where person = ${login} and expires_at > now()`;
    assert.ok(kept !== undefined);
    const [leak] = await sql`select from api_keys where row_to_json(api_keys)::text like ${`%${session.slice(15)}%`}`;
    assert.equal(leak, undefined, "only a digest is stored");
    assert.equal((await browser.fetch(`${app.url}/sign_out`, { method: "POST", headers: SAME })).status, 200);
    assert.equal(browser.cookiesOf(app.url).has(SESSION_COOKIE), false);
    browser.setCookie(app.url, SESSION_COOKIE, session);
    const refused = await poll("the session has ended", async () => {
      const response = await browser.fetch(`${app.url}/login`, { headers: SAME });
      return response.status === 200 ? null : response;
    });
    assert.equal(await codeOf(refused), "api_key_invalid");
  }
});

test("claims that are not in the id token are read from the provider", async () => {
  const lean = await open({ OIDC_ROLE_CLAIM: "roles" }, true);
  const back = await new Browser().signIn(lean.begin, "ada");
  assert.equal(locationOf(back), "/console");
});

for (const [login, fault] of [
  ["eve", "no_role"],
  ["joe", "no_role"],
  ["lost", "no_account"],
] as const)
  test(`${login} is not signed in: ${fault}`, async () => {
    const browser = new Browser();
    assert.equal(locationOf(await browser.signIn(begin, login)), `/console?sign_in=${fault}`);
    assert.equal(browser.cookiesOf(app.url).size, 0);
  });

test("state, nonce, cookie and code are checked", async () => {
  const browser = new Browser();
  const away = await browser.fetch(begin);
  const sent = new URL(locationOf(away) ?? "").searchParams;
  assert.deepEqual(
    [sent.get("response_type"), sent.get("code_challenge_method"), sent.get("redirect_uri")],
    ["code", "S256", `${begin}/callback`],
  );
  const state = sent.get("state") ?? "";
  const finish = async (search: Record<string, string>, who = browser) =>
    locationOf(await who.fetch(`${begin}/callback?${new URLSearchParams({ iss: provider.issuer, ...search })}`));
  const [name = "", pending = ""] = [...browser.cookiesOf(app.url)][0] ?? [];
  assert.match(away.headers.getSetCookie()[0] ?? "", /Path=\/sign_in\/oidc; Max-Age=600; HttpOnly; SameSite=Lax$/);
  const again = () => browser.setCookie(app.url, name, pending);
  assert.equal(await finish({ code: "x", state }, new Browser()), "/console?sign_in=expired");
  assert.equal(await finish({ code: "x", state: "another" }), "/console?sign_in=provider");
  again();
  assert.equal(await finish({ code: "wrong", state }), "/console?sign_in=provider");
  again();
  assert.equal(
    await finish({ error: "access_denied", error_description: "<b>no</b>", state }),
    "/console?sign_in=denied",
  );
  browser.setCookie(app.url, name, `${pending.slice(0, 20)}x${pending.slice(21)}`);
  assert.equal(await finish({ code: "x", state }), "/console?sign_in=expired");
});

test("another page cannot use the session: CSRF", async () => {
  const browser = new Browser();
  await browser.signIn(begin, "ada");
  const send = async (method: string, path: string, headers: Record<string, string>) =>
    (await browser.fetch(`${app.url}${path}`, { method, headers })).status;
  for (const headers of [
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { "sec-fetch-site": "none" },
    { origin: "https://evil.example" },
    { origin: "null" },
    {},
  ] as Record<string, string>[])
    assert.equal(await send("POST", "/change", headers), 403, JSON.stringify(headers));
  assert.equal(await send("POST", "/change", SAME), 200);
  assert.equal(await send("POST", "/change", { origin: app.url }), 200, "a browser without Sec-Fetch-Site");
  assert.equal(await send("GET", "/login", { "sec-fetch-site": "cross-site" }), 403);
  assert.equal(await send("GET", "/login", { "sec-fetch-site": "none" }), 200);
});

test("a provider that cannot be reached is reported, and failed sign-ins are limited by address", async () => {
  const config = makeConfig({
    ...{ OIDC_ISSUER: "http://127.0.0.1:1", OIDC_ACCOUNT: "acme", OIDC_ADMINS: "root" },
  });
  const oidc = new Oidc({ sql, config: config.oidc, log: silentLog, secret: Buffer.alloc(32, 7) });
  const broken = await openApp(signInEndpoints({ sql, oidc, sessionSeconds: 60, gate: new LoginGate(2) }));
  opened.push(broken);
  const ask = async () => locationOf(await broken.call("/sign_in/oidc", { redirect: "manual" }));
  assert.deepEqual(
    [await ask(), await ask(), await ask()],
    ["/console?sign_in=provider", "/console?sign_in=provider", "/console?sign_in=too_many"],
  );
});

test("without a provider there is nothing to sign in to", async () => {
  const oidc = new Oidc({ sql, config: makeConfig().oidc, log: silentLog, secret: Buffer.alloc(32, 7) });
  const none = await openApp(signInEndpoints({ sql, oidc, sessionSeconds: 60, gate: new LoginGate(2) }));
  opened.push(none);
  assert.deepEqual(await (await none.call("/sign_in")).json(), { signed_in: false, oidc: null });
  for (const path of ["/sign_in/oidc", "/sign_in/oidc/callback?code=x&state=y&anything=z"])
    assert.equal(await codeOf(await none.call(path)), "sign_in_disabled");
});

test("reads roles from nested claims, and gives the highest", () => {
  const names = { viewers: ["v"], operators: ["o"], admins: ["a"] };
  const role = (claims: object, role_claim: string) =>
    readRole(claims as Record<string, unknown>, { ...names, role_claim });
  assert.deepEqual(role({ realm_access: { roles: ["v", "a"] } }, "realm_access.roles"), ["admin"]);
  assert.deepEqual(role({ "https://example/roles": "o" }, "https://example/roles"), ["operate"]);
  assert.equal(role({ roles: ["x"] }, "roles"), null);
  assert.equal(role({}, "constructor.name"), null);
  assert.equal(role({ roles: undefined }, "roles"), null);
});
