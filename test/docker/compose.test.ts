import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parse } from "yaml";
import { type ConfigFault, checkSetting } from "../../server/config/keys.ts";
import { readEnvironment } from "../../server/config/read-settings.ts";
import { checkReferences, readCompose, readExample, type Service, substitute } from "./compose.ts";

const FOLDER = new URL("../../docker/", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, FOLDER), "utf8");

const compose = readCompose(read("compose.yaml"));
const services = Object.entries(compose.services);
const serviceOf = (name: string): Service => {
  const service = compose.services[name];
  assert.ok(service !== undefined, name);
  return service;
};

const example = readExample(read(".env.example"));

test("contains Windhover, a database, a broker, Prometheus and Grafana, and MediaMTX as a profile", () => {
  const usual = services.filter(([, { profiles }]) => profiles === undefined).map(([name]) => name);
  assert.deepEqual(usual.sort(), ["grafana", "mosquitto", "postgres", "prometheus", "windhover"]);
  assert.deepEqual(serviceOf("mediamtx").profiles, ["mediamtx"]);
});

test("every third-party image has a fixed version", () => {
  for (const [name, { image }] of services)
    if (name !== "windhover") assert.match(image, /:v?\d+\.\d+(\.\d+)?(-[a-z]+)?(@sha256:[0-9a-f]{64})?$/, name);
});

test("every service has resource limits and minimal privileges", () => {
  for (const [name, service] of services) {
    assert.deepEqual(service.cap_drop, ["ALL"], name);
    assert.deepEqual(service.security_opt, ["no-new-privileges:true"], name);
    assert.equal(service.read_only, true, name);
    assert.ok(service.tmpfs?.includes("/tmp"), name);
    assert.match(substitute(service.mem_limit ?? "", {}), /^[1-9]\d*g$/, name);
    assert.ok((service.pids_limit ?? 0) > 0, name);
    if (name !== "postgres") assert.equal(service.cap_add, undefined, name);
  }
});

test("only Windhover and MediaMTX, which authenticate clients, listen on external addresses", () => {
  const open = services.filter(([, { ports = [] }]) => ports.some((port) => !port.startsWith("127.0.0.1:")));
  assert.deepEqual(open.map(([name]) => name).sort(), ["mediamtx", "windhover"]);
});

test("mounted files exist, volumes and secrets are declared, and ports are unique", () => {
  const ports = services.flatMap(([, service]) => service.ports ?? []).map((port) => port.replace(/:\d+/, ""));
  assert.deepEqual(ports, [...new Set(ports)]);
  checkReferences(compose, FOLDER);
});

test("Windhover accepts its variables, also with the values of the docker/.env example", () => {
  const settings = serviceOf("windhover").environment ?? {};
  const filled = { ...example, POSTGRES_PASSWORD: "word", WINDHOVER_BOOTSTRAP_KEY: "k".repeat(40) };
  for (const env of [filled, { POSTGRES_PASSWORD: "word", WINDHOVER_BOOTSTRAP_KEY: "k".repeat(40) }]) {
    const faults: ConfigFault[] = [];
    const given = Object.entries(settings).map(([name, value]) => [name, substitute(value, env)]);
    const taken = readEnvironment(Object.fromEntries(given), faults);
    assert.deepEqual([...faults, ...taken.map(checkSetting).filter(Boolean)], []);
    assert.equal(taken.length, given.length, "every variable is read");
  }
});

test("the docker/.env example contains every variable, and passwords have no default", () => {
  const used = [...read("compose.yaml").matchAll(/\$\{(\w+)/g)].map(([, name = ""]) => name);
  const secrets = Object.values(compose.secrets).map(({ environment }) => environment);
  assert.deepEqual(Object.keys(example).sort(), [...new Set([...used, ...secrets])].sort());
  for (const name of ["WINDHOVER_BOOTSTRAP_KEY", "POSTGRES_PASSWORD", "GRAFANA_PASSWORD", "MOSQUITTO_PASSWORD"]) {
    assert.equal(example[name], "", name);
    for (const [use] of read("compose.yaml").matchAll(new RegExp(`\\$\\{${name}[^}]*\\}`, "g")))
      assert.match(use, /:\?/);
  }
});

test("Prometheus reads protected metrics with a key", () => {
  const { scrape_configs: jobs } = parse(read("prometheus/prometheus.yml"));
  const { secrets = [], volumes = [] } = serviceOf("prometheus");
  assert.equal(jobs[0].authorization.credentials_file, `/run/secrets/${secrets[0]}`);
  assert.deepEqual(jobs[0].static_configs, [{ targets: ["windhover:8080"] }]);
  assert.ok(volumes.includes("./prometheus/prometheus.yml:/etc/prometheus/prometheus.yml:ro"));
  const { environment = {} } = serviceOf("windhover");
  assert.ok(!("WINDHOVER_HTTP_METRICS_OPEN" in environment), "other clients than Prometheus can reach the port");
});

test("Grafana loads the mounted dashboard and reaches Prometheus by its host name", () => {
  const { volumes = [], environment = {} } = serviceOf("grafana");
  const { providers } = parse(read("grafana/provisioning/dashboards/windhover.yaml"));
  const { datasources } = parse(read("grafana/provisioning/datasources/prometheus.yaml"));
  const { path } = providers[0].options;
  assert.ok(volumes.includes(`./grafana/dashboards:${path}:ro`));
  assert.equal(environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH, `${path}/windhover.json`);
  assert.ok(new URL(datasources[0].url).hostname in compose.services);
});

test("MediaMTX does not start without a password", () => {
  const { environment = {} } = serviceOf("mediamtx");
  const userOf = (env: Readonly<Record<string, string>>) =>
    substitute(environment.MTX_AUTHINTERNALUSERS_0_USER ?? "any", env);
  const { authInternalUsers: users } = parse(read("mediamtx/mediamtx.yml"));
  assert.equal(userOf({}), "", "an empty name, with which it does not start");
  assert.equal(userOf({ MEDIAMTX_PASSWORD: "word" }), users[0].user);
  assert.equal(users.length, 1);
});
