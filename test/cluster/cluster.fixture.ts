/** Several real nodes on one real database, each with data of its own. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { windhover } from "../../cli/windhover.fixture.ts";
import type { NodeListing, NodeRecord } from "../../schemas/api/nodes.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { Gate } from "../../server/delivery/gate.fixture.ts";
import { testPostgres } from "../../server/store/database.fixture.ts";
import { MASTER_KEY, TestService } from "../api/service.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { type BalancedNode, type Haproxy, openHaproxy } from "../haproxy.fixture.ts";
import { findFreePort } from "../ports.fixture.ts";

export class TestCluster {
  readonly databaseUrl: string;
  readonly nodes: TestService[] = [];
  /** Each node reaches the database through its own, which can be cut. */
  readonly gates: Gate[] = [];
  readonly #close: () => Promise<void>;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(databaseUrl: string, close: () => Promise<void>, env: NodeJS.ProcessEnv) {
    this.databaseUrl = databaseUrl;
    this.#close = close;
    this.#env = { WINDHOVER_SECRETS_KEY: randomBytes(32).toString("hex"), WINDHOVER_LIMITS_PROCESSES: "100", ...env };
  }

  static async start(count: number, env: NodeJS.ProcessEnv = {}): Promise<TestCluster> {
    const { url, close } = await testPostgres();
    const cluster = new TestCluster(url, close, env);
    for (let i = 0; i < count; i += 1) await cluster.add();
    return cluster;
  }

  async add(env: NodeJS.ProcessEnv = {}): Promise<TestService> {
    const gate = await Gate.open(this.#socket);
    const { pathname, searchParams } = new URL(this.databaseUrl);
    const url = `postgres://${searchParams.get("user")}@127.0.0.1:${gate.port}${pathname}`;
    // The same after a restart.
    const port = String(await findFreePort());
    const node = await TestService.start({
      env: { ...this.#env, DATABASE_URL: url, WINDHOVER_HTTP_PORT: port, ...env },
    });
    this.nodes.push(node);
    this.gates.push(gate);
    return node;
  }

  /** Of this database, past the gates of the nodes. */
  get #socket(): string {
    return `${new URL(this.databaseUrl).searchParams.get("host")}/.s.PGSQL.5432`;
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.close()));
    await Promise.all(this.gates.map((gate) => gate.cut()));
    await this.#close();
  }
}

/** Creates an account; resolves with its key. */
export async function addAccount(databaseUrl: string, name: string, ...args: readonly string[]): Promise<string> {
  const words = ["keys", "create", name, ...args];
  const { code, stdout, stderr } = await windhover(words, temporaryFolder(), { DATABASE_URL: databaseUrl });
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

/** HAProxy in front of these nodes. */
export const balance = async (nodes: readonly TestService[]): Promise<Haproxy> =>
  openHaproxy(await Promise.all(nodes.map(portsOf)));

async function portsOf({ serving }: TestService): Promise<BalancedNode> {
  const { url = "", rtsp = "", rtmp = "" } = await serving.event("ready");
  const port = (address: string): number => Number(new URL(address).port);
  return { http: port(url), rtsp: port(rtsp), rtmp: port(rtmp) };
}

export const listNodes = (service: TestService): Promise<NodeListing> => service.expect(200, "GET", "/nodes");

/** The uuid of the node that answers behind a load balancer. */
export async function answeringNode(url: string): Promise<string> {
  const response = await fetch(`${url}/nodes`, { headers: { api_key: MASTER_KEY } });
  assert.equal(response.status, 200);
  const { nodes } = (await response.json()) as NodeListing;
  return nodes.find(({ is_this }) => is_this)?.uuid ?? assert.fail("no node is this one");
}

/** The record of the node that answers. */
export async function ownRecord(service: TestService): Promise<NodeRecord> {
  const found = (await listNodes(service)).nodes.find(({ is_this }) => is_this);
  if (found === undefined) throw new Error("the node does not list itself");
  return found;
}

export const registerCamera = (service: TestService, url: string): Promise<SourceRecord> =>
  service.expect(201, "POST", "/stream", {
    json: { alias: "yard", stream_type: "rtsp", input_url: url, recording: "off" },
  });

/** Messages for every frame, which takes hardly any inference. */
export const PARAMS = { every: 1000, include_predicted: true };

export const start = (
  service: TestService,
  sourceUuid: string,
  more: object = {},
  key = MASTER_KEY,
): Promise<StartedProcess> =>
  service.expect(201, "POST", `/start?source_uuid=${sourceUuid}`, { key, json: { params: PARAMS, ...more } });

export const read = (service: TestService, uuid: string, key = MASTER_KEY): Promise<ProcessRecord> =>
  service.expect(200, "GET", `/process/${uuid}`, { key });

/** Of nothing. */
const OTHER = "01890000-0000-7000-8000-000000000009";
/** They succeed without a body, once. */
const CHANGING = [
  ...["POST /process/{process_uuid}/pause", "POST /process/{process_uuid}/resume", "DELETE /process/{process_uuid}"],
  ...["POST /process/{process_uuid}/stop", "DELETE /process/{process_uuid}/tracks"],
];

/** Measurements change all the time. */
const withoutNumbers = (text: string): string =>
  text.replaceAll(/:-?[\d.]+/g, ":0").replaceAll(/"request_id":"[^"]*"/g, "");

/** The detections that are stored now: those of a running process grow between two requests. */
async function upToNow(node: TestService, target: string): Promise<string> {
  const lines = (await node.send("GET", target, {})).text.trimEnd().split("\n");
  const { timestamp } = JSON.parse(lines.at(-1) || "{}") as { timestamp?: string };
  return `${target}?to=${encodeURIComponent(timestamp ?? new Date().toISOString())}`;
}

/**
 * Every operation of a process in the OpenAPI document gives the same status, type and body on all nodes. Those that change
 * the process are sent with a body that is rejected, or with an unknown second uuid.
 */
export async function compareAnswers(nodes: readonly TestService[], uuids: readonly string[]): Promise<void> {
  const [first = assert.fail("no nodes")] = nodes;
  const operations = first.contract.operations.filter(({ path }) => path.includes("{process_uuid}"));
  const changing = operations.filter(({ method, path }) => CHANGING.includes(`${method} ${path}`));
  assert.equal(changing.length, CHANGING.length, "an operation of the list does not exist");
  const compared = operations.filter((operation) => !changing.includes(operation));
  assert.ok(compared.length > 15);
  for (const uuid of uuids)
    for (const { method, path } of compared) {
      const filled = path
        .replace("{process_uuid}", uuid)
        .replaceAll(/\{\w+_uuid\}/g, OTHER)
        .replaceAll(/\{\w+\}/g, "0");
      const target = path.endsWith("/detections") ? await upToNow(first, filled) : filled;
      const body = method === "GET" ? {} : { json: { unknown: true } };
      const answers: unknown[] = [];
      for (const node of nodes) {
        const { status, headers, text } = await node.send(method, target, body);
        // Tracks change between two requests.
        const shown = path.endsWith("/tracks") ? "" : withoutNumbers(text);
        answers.push([status, headers.get("content-type"), shown]);
      }
      for (const answer of answers) assert.deepEqual(answer, answers[0], `${method} ${path}`);
    }
}
