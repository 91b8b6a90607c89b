import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { CONFIG_KEYS, ConfigFaults, showValue, WITHOUT_SECRETS, writeExample } from "./keys.ts";
import { type LoadedConfig, loadConfig } from "./load.ts";
import { OTHER_VARIABLES } from "./read-settings.ts";

const folder = await mkdtemp(join(tmpdir(), "windhover-config-"));
after(() => rm(folder, { recursive: true }));
const FILE = join(folder, "windhover.yaml");

async function load(yaml: string | null, env: NodeJS.ProcessEnv = {}): Promise<LoadedConfig> {
  if (yaml === null) await rm(FILE, { force: true });
  else await writeFile(FILE, yaml);
  return loadConfig({ file: null, folder, env });
}

async function faultsOf(yaml: string | null, env: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const error = await load(yaml, env).then(
    () => assert.fail("it was taken"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ConfigFaults, String(error));
  return error.faults.map(({ where, message }) => `${where}: ${message}`);
}

const originOf = ({ settings }: LoadedConfig, name: string): string | undefined =>
  settings.find(({ key }) => key.name === name)?.origin.where;

describe("where values come from", () => {
  test("has defaults without file and environment", async () => {
    const loaded = await load(null);
    assert.equal(loaded.config.http.port, 8080);
    assert.equal(loaded.config.data_dir, join(folder, "data"));
    assert.equal(loaded.file, null);
    assert.ok(loaded.settings.every(({ origin }) => origin.kind === "default"));
  });

  test("the file overrides defaults, the environment overrides the file", async () => {
    const yaml = "http:\n  port: 9000\n  host: 0.0.0.0\nlog:\n  level: debug\n";
    const loaded = await load(yaml, { WINDHOVER_HTTP_PORT: "9001" });
    assert.equal(loaded.config.http.port, 9001);
    assert.equal(loaded.config.http.host, "0.0.0.0");
    assert.equal(loaded.config.log.level, "debug");
    assert.equal(originOf(loaded, "http.port"), "WINDHOVER_HTTP_PORT");
    assert.equal(originOf(loaded, "http.host"), "windhover.yaml:3:9");
    assert.equal(originOf(loaded, "http.body_bytes"), "default");
  });

  test("DATABASE_URL sets the database, and WINDHOVER_DATABASE_URL overrides it", async () => {
    const theirs = await load(null, { DATABASE_URL: "postgres://a/b" });
    assert.equal(theirs.config.database.url, "postgres://a/b");
    assert.equal(originOf(theirs, "database.url"), "DATABASE_URL");
    const env = { DATABASE_URL: "postgres://a/b", WINDHOVER_DATABASE_URL: "postgres://c/d" };
    assert.equal((await load(null, env)).config.database.url, "postgres://c/d");
  });

  test("an empty variable counts as not set", async () => {
    const loaded = await load("http: { port: 9000 }", { WINDHOVER_HTTP_PORT: "", WINDHOVER_PUBLIC_URL: "" });
    assert.equal(loaded.config.http.port, 9000);
    assert.equal(loaded.config.public_url, null);
  });

  test("an empty file and a section with all keys commented out set nothing", async () => {
    for (const yaml of ["", "# nothing\n", "---\n", "http:\n  # port: 1\nlog:\n"])
      assert.equal((await load(yaml)).config.http.port, 8080, JSON.stringify(yaml));
  });
});

describe("values of variables are read as their key says", () => {
  const rows: readonly (readonly [
    variable: string,
    text: string,
    read: (l: LoadedConfig) => unknown,
    value: unknown,
  ])[] = [
    ["WINDHOVER_HTTP_PORT", " 0 ", ({ config }) => config.http.port, 0],
    ["WINDHOVER_RTMP_PORT", "1936", ({ config }) => config.rtmp.port, 1936],
    ["WINDHOVER_HTTP_REQUEST_SECONDS", "2.5", ({ config }) => config.http.request_seconds, 2.5],
    ["WINDHOVER_LOG_ACCESS", "No", ({ config }) => config.log.access, false],
    ["WINDHOVER_HTTP_CHECK_ANSWERS", "1", ({ config }) => config.http.check_answers, true],
    [
      "WINDHOVER_NETWORK_DENY",
      "10.0.0.0/8, fd00::/8,",
      ({ config }) => config.network.deny,
      ["10.0.0.0/8", "fd00::/8"],
    ],
    ["WINDHOVER_BOOTSTRAP_KEY", "1234567890123456", ({ config }) => config.bootstrap_key, "1234567890123456"],
    ["WINDHOVER_PUBLIC_URL", "https://a.example", ({ config }) => config.public_url, "https://a.example"],
  ];
  for (const [variable, text, read, value] of rows)
    test(`${variable}=${text}`, async () => assert.deepEqual(read(await load(null, { [variable]: text })), value));
});

describe("faults", () => {
  test("are all reported at once, each with its location", async () => {
    const yaml = 'http:\n  prot: 1\n  port: "x"\n  host: 3\nlimit:\n  sources: 5\nsources: 5\n';
    const env = { WINDHOVER_HTTP_PORTS: "1", WINDHOVER_LOG_LEVEL: "loud" };
    assert.deepEqual(await faultsOf(yaml, env), [
      'windhover.yaml:2:3: there is no setting "http.prot"; did you mean "port"?',
      'windhover.yaml:5:1: there is no setting "limit"; did you mean "limits"?',
      'windhover.yaml:7:1: there is no setting "sources"; did you mean "limits.sources"?',
      'WINDHOVER_HTTP_PORTS: there is no such setting; did you mean "WINDHOVER_HTTP_PORT"?',
      'windhover.yaml:3:9: http.port is "x"; expected a whole number from 0 to 65535',
      "windhover.yaml:4:9: http.host is 3; expected text",
      'WINDHOVER_LOG_LEVEL: log.level is "loud"; expected "fatal", "error", "warn", "info", "debug" or "trace"',
    ]);
  });

  test("of values and of consistency are reported together, without consequences of the first kind", async () => {
    const yaml =
      "http:\n  port: x\n  tls_cert: 5\n  tls_key: /dev/null\n  cors_origins: [nowhere]\nwebrtc: { port_first: soon, port_last: 14 }\n";
    assert.deepEqual(await faultsOf(yaml), [
      'windhover.yaml:2:9: http.port is "x"; expected a whole number from 0 to 65535',
      "windhover.yaml:3:13: http.tls_cert is 5; expected text or null",
      'windhover.yaml:6:23: webrtc.port_first is "soon"; expected a whole number from 0 to 65535',
      'windhover.yaml:5:17: http.cors_origins has "nowhere"; expected https://host or *',
    ]);
  });

  const rows: readonly (readonly [what: string, yaml: string | null, env: NodeJS.ProcessEnv, says: RegExp])[] = [
    [
      "tiles without a row",
      "map:\n  tiles: https://tiles.example.org/{z}/{x}.png\n",
      {},
      /^windhover\.yaml:2:10: map\.tiles has no \{y\}; expected the address of raster tiles/,
    ],
    ["no YAML", "http: [", {}, /^windhover\.yaml:1:\d+: YAML: /],
    ["a key that is given twice", "http: {port: 1, port: 2}", {}, /^windhover\.yaml:1:\d+: YAML: .*unique/i],
    ["a second document", "---\n{}\n---\n{}\n", {}, /second document/],
    ["a list", "- a\n", {}, /the configuration is not a map/],
    ["a section that is not a map", "http: 80\n", {}, /http is not a map/],
    ["a key that is not a word", "? [a]\n: b\n", {}, /there is no setting/],
    ["an alias", "data_dir: &a x\nhttp: {host: *a}\n", {}, /alias/],
    ["a nothing where a value is needed", "http: {port: }\n", {}, /http\.port is null; expected a whole number/],
    ["a key that is easily guessed", null, { WINDHOVER_BOOTSTRAP_KEY: "hunter2" }, /16 to 200 characters/],
    ["half a TLS", null, { WINDHOVER_HTTP_TLS_CERT: "/dev/null" }, /tls_key is missing/],
    [
      "a file that is not there",
      null,
      { WINDHOVER_HTTP_TLS_CERT: "no", WINDHOVER_HTTP_TLS_KEY: "no" },
      /cannot be read/,
    ],
    ["an address with a path", null, { WINDHOVER_PUBLIC_URL: "https://a/b" }, /without a path/],
    ["an address of another kind", null, { WINDHOVER_PUBLIC_URL: "ftp://a" }, /expects http/],
    ["a database of another kind", null, { DATABASE_URL: "mysql://u:hunter2@h/d" }, /^DATABASE_URL: .*postgres:/],
    ["no network", null, { WINDHOVER_NETWORK_DENY: "10.0.0.0/33" }, /^WINDHOVER_NETWORK_DENY: .*10\.0\.0\.0\/33/],
    ["no proxy", "http: {trusted_proxies: [nginx]}", {}, /^windhover\.yaml:1:\d+: .*"nginx"/],
    ["no origin", null, { WINDHOVER_HTTP_CORS_ORIGINS: "a.example" }, /"a\.example"; expected https/],
    ["half a range of ports", null, { WINDHOVER_WEBRTC_PORT_FIRST: "5000" }, /webrtc\.port_last must not be below/],
    [
      "an endpoint without a bucket",
      "storage: {s3: {endpoint: 'http://h:9000'}}",
      {},
      /s3\.bucket is missing: .*endpoint/,
    ],
    ["no bucket", null, { WINDHOVER_STORAGE_S3_BUCKET: "a/b" }, /storage\.s3\.bucket expects the name of a bucket/],
    [
      "an endpoint with credentials",
      "storage: {s3: {bucket: abc, endpoint: 'http://u:p@h'}}",
      {},
      /s3\.endpoint expects http\(s\)/,
    ],
    ["a prefix with a slash", "storage: {s3: {bucket: abc, prefix: /a}}", {}, /s3\.prefix expects a path without/],
    ["a prefix that climbs", "storage: {s3: {bucket: abc, prefix: a/../b}}", {}, /s3\.prefix expects a path without/],
    ["a name as an address", null, { WINDHOVER_WEBRTC_ADDRESSES: "hub.example" }, /"hub\.example"; expected an IP/],
    ["a passphrase that is too short", null, { WINDHOVER_SRT_PASSPHRASE: "short" }, /srt\.passphrase expects 10 to 79/],
    ["ports of sources", null, { WINDHOVER_MEDIA_SOURCE_PORTS: "5010-5000" }, /source_ports has "5010-5000"/],
    ["one port for two servers", null, { WINDHOVER_RTMP_PORT: "8554" }, /rtmp\.port equals rtsp\.port/],
    ["a name with a port", null, { WINDHOVER_MEDIA_HOSTS: "hub.example:8554" }, /"hub\.example:8554"; expected a name/],
    ["a variable of a constant", null, { WINDHOVER_NODE_RENEW_SECONDS: "14" }, /lists them; other limits are fixed/],
    [
      "a key of a constant",
      "media: {hello_seconds: 3}",
      {},
      /no setting "media\.hello_seconds"; expected one of hosts/,
    ],
  ];
  for (const [what, yaml, env, says] of rows)
    test(`rejects ${what}`, async () => {
      const faults = await faultsOf(yaml, env);
      assert.match(faults.join("\n"), says);
      assert.doesNotMatch(faults.join("\n"), /hunter2/);
    });

  test("a given file must exist", () =>
    assert.throws(() => loadConfig({ file: "none.yaml", folder, env: {} }), /none\.yaml: the file does not exist/));
});

describe("the list of keys", () => {
  test("gives every key a variable and a description", () => {
    const variables = CONFIG_KEYS.map(({ variable }) => variable);
    assert.equal(new Set(variables).size, variables.length);
    for (const { name, schema } of CONFIG_KEYS) assert.ok((schema.description ?? "").length > 3, name);
  });

  test("knows every variable that is read in the sources", () => {
    const known = new Set<string>([...CONFIG_KEYS.map(({ variable }) => variable), ...OTHER_VARIABLES]);
    const root = fileURLToPath(new URL("../..", import.meta.url));
    const folders = ["cli", "elements", "graphs", "models", "native", "server", "setup", "test"];
    const files = folders.flatMap((name) =>
      readdirSync(join(root, name), { recursive: true, encoding: "utf8" }).map((file) => join(root, name, file)),
    );
    for (const file of files.filter((name) => /\.(ts|mjs|cc|h)$/.test(name)))
      for (const [, name = ""] of readFileSync(file, "utf8").matchAll(/\benv(?:\.|\[")(WINDHOVER_[A-Z_]+)/g))
        assert.ok(known.has(name), `${file} reads ${name}`);
  });

  test("is in the example, which loads as it is and with all keys uncommented", async () => {
    const example = writeExample();
    assert.deepEqual((await load(example)).config, (await load(null)).config);
    const whole = example.replace(/^( *)# (\w+: )/gm, "$1$2");
    const loaded = await load(whole);
    assert.deepEqual(loaded.config, (await load(null)).config);
    assert.ok(loaded.settings.every(({ origin }) => origin.kind === "file"));
  });
});

test("a mail server needs a valid address and a sender", async () => {
  assert.deepEqual(await faultsOf("smtp:\n  url: http://mail.example\n  from: a@b.example\n"), [
    "windhover.yaml:2:8: smtp.url expects smtp://user:password@host:port or smtps://user:password@host:port",
  ]);
  const [missing] = await faultsOf("smtp:\n  url: smtp://mail.example\n");
  assert.equal(missing, "smtp.from: smtp.from expects the address of the sender: alerts@example.org");
});

test("child processes get no variable with a secret", () => {
  const secrets = CONFIG_KEYS.filter(({ isSecret }) => isSecret).map(({ name }) => name);
  assert.deepEqual(secrets.sort(), [
    ...["bootstrap_key", "database.url", "oidc.client_secret", "secrets.key", "smtp.url", "srt.passphrase"],
  ]);
  const names = [
    ...["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "DATABASE_URL"],
    ...["WINDHOVER_BOOTSTRAP_KEY", "WINDHOVER_DATABASE_URL", "WINDHOVER_OIDC_CLIENT_SECRET"],
    ...["WINDHOVER_SECRETS_KEY", "WINDHOVER_SMTP_URL", "WINDHOVER_SRT_PASSPHRASE"],
  ];
  assert.deepEqual(Object.keys(WITHOUT_SECRETS).sort(), names);
});

test("a sign-in through an identity provider needs an account, roles, and a safe address", async () => {
  const right = {
    ...{ WINDHOVER_OIDC_ISSUER: "https://login.example/realms/a", WINDHOVER_OIDC_ACCOUNT: "acme" },
    WINDHOVER_OIDC_ADMINS: "root",
  };
  assert.equal((await load(null, right)).config.oidc.issuer, right.WINDHOVER_OIDC_ISSUER);
  for (const [change, says] of [
    [{ WINDHOVER_OIDC_ISSUER: "http://login.example" }, /oidc\.issuer expects https/],
    [{ WINDHOVER_OIDC_ISSUER: "https://user:word@login.example" }, /oidc\.issuer expects https/],
    [{ WINDHOVER_OIDC_ACCOUNT: undefined }, /oidc\.account and oidc\.account_claim are not set/],
    [{ WINDHOVER_OIDC_ADMINS: undefined }, /nobody could sign in/],
  ] as const)
    await assert.rejects(async () => load(null, { ...right, ...change }), says);
});

test("secrets are shown masked", async () => {
  const env = {
    ...{ WINDHOVER_BOOTSTRAP_KEY: "wh_a_hunter2hunter2", DATABASE_URL: "postgres://u:hunter2@h/d" },
    ...{ WINDHOVER_SMTP_URL: "smtp://u:hunter2@mail", WINDHOVER_SMTP_FROM: "a@b.example" },
  };
  const { settings } = await load(null, env);
  const shown = Object.fromEntries(settings.map((setting) => [setting.key.name, showValue(setting)]));
  assert.equal(shown.bootstrap_key, "***");
  assert.equal(shown["database.url"], "postgres://***@h/d");
  assert.equal(shown["smtp.url"], "smtp://***@mail");
  assert.doesNotMatch(JSON.stringify(shown), /hunter2/);
});
