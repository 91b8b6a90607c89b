/** docker/cluster: the compose file and the configuration of HAProxy. `test/cluster/haproxy.test.ts` runs HAProxy with it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { CONFIG_KEYS, type ConfigFault, checkSetting } from "../../server/config/keys.ts";
import { readEnvironment } from "../../server/config/read-settings.ts";
import { haproxyIsMissing, PROGRAM } from "../haproxy.fixture.ts";
import { checkReferences, readCompose, readExample, substitute } from "./compose.ts";

const FOLDER = new URL("../../docker/cluster/", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, FOLDER), "utf8");
const text = read("compose.yaml");
const compose = readCompose(text);
const services = Object.entries(compose.services);
const nodes = services.filter(([name]) => name.startsWith("node"));
const example = readExample(read(".env.example"));
const PASSWORDS = ["WINDHOVER_SECRETS_KEY", "WINDHOVER_BOOTSTRAP_KEY", "POSTGRES_PASSWORD", "S3_SECRET"];
const FILLED = { WINDHOVER_SECRETS_KEY: "ab".repeat(32), WINDHOVER_BOOTSTRAP_KEY: "k".repeat(40) };
const filled = { ...FILLED, POSTGRES_PASSWORD: "word", S3_SECRET: "secret" };

test("contains three nodes, HAProxy, PostgreSQL 15 and storage", () => {
  const names = services.map(([name]) => name).sort();
  assert.deepEqual(names, ["bucket", "haproxy", "node1", "node2", "node3", "postgres", "s3"]);
  assert.match(compose.services.postgres?.image ?? "", /^postgres:15\./);
  assert.match(compose.services.haproxy?.image ?? "", /^haproxy:2\.6/);
});

test("every service has resource limits and minimal privileges, and those that stay have a health check", () => {
  for (const [name, service] of services) {
    assert.deepEqual(service.cap_drop, ["ALL"], name);
    assert.deepEqual(service.security_opt, ["no-new-privileges:true"], name);
    assert.equal(service.read_only, true, name);
    assert.ok(service.tmpfs?.includes("/tmp"), name);
    assert.match(substitute(service.mem_limit ?? "", {}), /^[1-9]\d*g$/, name);
    assert.ok((service.pids_limit ?? 0) > 0, name);
    if (name !== "postgres") assert.equal(service.cap_add, undefined, name);
    if (name !== "bucket") assert.ok(service.healthcheck !== undefined, name);
    if (service.image !== "windhover")
      assert.match(service.image, /:\d+\.\d+(\.\d+)?(-[a-z]+)?(@sha256:[0-9a-f]{64})?$/);
  }
});

test("clients reach HAProxy, and nodes only for WebRTC", () => {
  const open = services.flatMap(([name, { ports = [] }]) =>
    ports.filter((port) => !port.startsWith("127.0.0.1:")).map((port) => `${name} ${port}`),
  );
  assert.deepEqual(open.sort(), [
    ...["haproxy 1935:1935", "haproxy 8080:8080", "haproxy 8554:8554"],
    ...["node1 8555:8555/udp", "node2 8556:8556/udp", "node3 8557:8557/udp"],
  ]);
});

test("mounted files exist, volumes and secrets are declared, needed services exist", () => {
  checkReferences(compose, FOLDER);
});

test("Windhover accepts the variables of each node; only its address and its ports differ", () => {
  for (const env of [filled, { ...example, ...filled }]) {
    const settings = nodes.map(([, { environment = {} }]) => {
      const given = Object.entries(environment)
        .filter(([name]) => !name.startsWith("AWS_"))
        .map(([name, value]) => [name, substitute(value, env)]);
      const faults: ConfigFault[] = [];
      const taken = readEnvironment(Object.fromEntries(given), faults);
      assert.deepEqual([...faults, ...taken.map(checkSetting).filter(Boolean)], []);
      assert.equal(taken.length, given.length, "every variable is read");
      return { ...environment };
    });
    for (const name of ["CLUSTER_URL", "WEBRTC_PORT_FIRST", "WEBRTC_PORT_LAST"]) {
      const values = settings.map((each) => each[`WINDHOVER_${name}`]);
      assert.equal(new Set(values).size, 3, name);
      for (const each of settings) delete each[`WINDHOVER_${name}`];
    }
    assert.deepEqual(settings[1], settings[0]);
    assert.deepEqual(settings[2], settings[0]);
  }
});

test("a node has more time to stop than to drain", () => {
  const drain = CONFIG_KEYS.find(({ name }) => name === "cluster.drain_seconds") ?? assert.fail();
  for (const [name, { stop_grace_period: grace = "" }] of nodes)
    assert.ok(Number.parseInt(grace, 10) >= Number(drain.schema.default) + 30, name);
});

test("the example contains every variable, and passwords have no default", () => {
  const used = [...text.matchAll(/\$\{(\w+)/g)].map(([, name = ""]) => name);
  const secrets = Object.values(compose.secrets).map(({ environment }) => environment);
  assert.deepEqual(Object.keys(example).sort(), [...new Set([...used, ...secrets])].sort());
  for (const name of PASSWORDS) {
    assert.equal(example[name], "", name);
    for (const [use] of text.matchAll(new RegExp(`\\$\\{${name}[^}]*\\}`, "g"))) assert.match(use, /:\?/);
  }
});

test("nodes trust HAProxy, and users reach neither the database nor the storage", () => {
  const { networks, services: raw } = parse(text, { merge: true });
  assert.equal(networks.default.ipam.config[0].subnet, "172.31.240.0/24");
  const { environment } = raw.node1;
  assert.equal(environment.WINDHOVER_HTTP_TRUSTED_PROXIES, raw.haproxy.networks.default.ipv4_address);
  assert.equal(environment.WINDHOVER_NETWORK_DENY, "172.31.240.2/31");
  assert.deepEqual(
    ["postgres", "s3"].map((name) => raw[name].networks.default.ipv4_address),
    ["172.31.240.2", "172.31.240.3"],
  );
});

test("HAProxy accepts its configuration, and rejects one with an error", { skip: haproxyIsMissing }, () => {
  const file = fileURLToPath(new URL("haproxy.cfg", FOLDER));
  const check = (path: string, input?: string) =>
    spawnSync(PROGRAM, ["-c", "-f", path], { encoding: "utf8", ...(input !== undefined && { input }) });
  const { status, stderr } = check(file);
  assert.equal(status, 0, stderr);
  assert.equal(check("/dev/stdin", read("haproxy.cfg").replace("balance leastconn", "balance leastcon")).status, 1);
});

test("HAProxy balances all three nodes in every backend", () => {
  const backends = read("haproxy.cfg")
    .split(/^backend /m)
    .slice(1);
  assert.equal(backends.length, 4);
  for (const backend of backends) {
    const [name = ""] = backend.split("\n");
    const hosts = [...backend.matchAll(/^ {2}server (\S+) (\S+):\d+$/gm)].map(([, id, host]) => [id, host]);
    assert.deepEqual(
      hosts,
      nodes.map(([node]) => [node, node]),
      name,
    );
    assert.match(backend, /option httpchk GET \/readyz/, name);
  }
});
