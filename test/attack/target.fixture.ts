/** A real service with two tenants, the resources of the second one, the memory of its processes, and a client that measures. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { listDescendants } from "../../cli/serve/serving.fixture.ts";
import { makeYolox } from "../../models/onnx.fixture.ts";
import { createKey, TestService, uploadVideo } from "../api/service.fixture.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";

/** Loopback addresses: attackers use others than the well-behaved client. */
export const ADDRESS = { stranger: "127.0.0.66", tenantA: "127.0.0.77", tenantB: "127.0.0.2" } as const;

const PAGE_BYTES = 4096;
const SAMPLE_MS = 250;
const LIMIT_MS = 60_000;

export interface Reply {
  readonly status: number;
  readonly text: string;
}

/** Resources of tenant B. */
export interface Owned {
  readonly source: string;
  readonly process: string;
  readonly output: string;
  readonly alert: string;
  /** An output with signed URLs. */
  readonly video: string;
  /** Name of a stored graph. */
  readonly graph: string;
  /** Name of an uploaded model. */
  readonly model: string;
  /** The API key. */
  readonly key: string;
  /** To events. */
  readonly subscription: string;
}

export class Target {
  readonly service: TestService;
  readonly keyA: string;
  readonly keyB: string;
  readonly owned: Owned;
  readonly ports: { readonly http: number; readonly rtsp: number; readonly rtmp: number };
  readonly #peaks = new Map<string, number>();
  #sampling: NodeJS.Timeout | undefined;

  private constructor(service: TestService, keyA: string, keyB: string, owned: Owned, ports: Target["ports"]) {
    this.service = service;
    this.keyA = keyA;
    this.keyB = keyB;
    this.owned = owned;
    this.ports = ports;
  }

  /** With the default limits of the service. */
  static async open(env: NodeJS.ProcessEnv = {}): Promise<Target> {
    const service = await TestService.start({
      env: {
        WINDHOVER_LIMITS_REQUESTS_PER_MINUTE: "1200",
        WINDHOVER_LIMITS_FAILED_LOGINS_PER_MINUTE: "20",
        ...env,
      },
    });
    try {
      const { rtsp = "", rtmp = "" } = await service.serving.event("ready");
      const portOf = (url: string) => Number(new URL(url).port);
      const ports = { http: portOf(service.url), rtsp: portOf(rtsp), rtmp: portOf(rtmp) };
      const rights = ["--enhancement", "--track-logger", "--recording", "--graph-author"];
      const keyA = await createKey(service, "tenant-a", ...rights);
      const keyB = await createKey(service, "tenant-b", ...rights, "--limit", "requests_per_minute=6000");
      return new Target(service, keyA, keyB, await createResources(service, keyB), ports);
    } catch (error) {
      await service.close();
      throw error;
    }
  }

  close(): Promise<void> {
    clearInterval(this.#sampling);
    return this.service.close();
  }

  /** Uses a new connection from one of `ADDRESS`. Rejects when the connection breaks or there is no response. */
  call(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
    const {
      address = ADDRESS.tenantB,
      key,
      body,
      type = "application/json",
      headers: others,
      isUpgrade = false,
    } = options;
    const headers = {
      ...(body !== undefined && { "content-type": type, "content-length": Buffer.byteLength(body) }),
      ...others,
      ...(key !== undefined && { api_key: key }),
      ...(isUpgrade && UPGRADE),
    };
    return new Promise((resolve, reject) => {
      const where = { host: "127.0.0.1", port: this.ports.http, localAddress: address, path, method, headers };
      const outgoing = request({ ...where, agent: false, timeout: LIMIT_MS }, (incoming) => {
        const isEndless = /^(text\/event-stream|multipart\/)/.test(incoming.headers["content-type"] ?? "");
        const { statusCode: status = 0 } = incoming;
        if (isEndless) {
          incoming.destroy();
          resolve({ status, text: "" });
          return;
        }
        let text = "";
        incoming.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        incoming.once("end", () => resolve({ status, text }));
        incoming.once("error", reject);
      });
      outgoing.once("upgrade", (_, socket) => {
        socket.destroy();
        resolve({ status: 101, text: "" });
      });
      outgoing.once("timeout", () => outgoing.destroy(new Error(`${method} ${path}: no response`)));
      outgoing.once("error", reject);
      outgoing.end(body);
    });
  }

  /** For `takePeaks`. */
  watchMemory(): void {
    this.#sampling = setInterval(() => this.#sample(), SAMPLE_MS);
  }

  /** The largest resident size of each kind of process since the last call, in MB. */
  takePeaks(): ReadonlyMap<string, number> {
    this.#sample();
    const peaks = new Map(this.#peaks);
    this.#peaks.clear();
    return peaks;
  }

  /** The server and its hub: they must be the same processes at the end. */
  get pids(): Readonly<Record<string, number>> {
    const { pid } = this.service.serving;
    const hub = listDescendants(pid).find((child) => nameOf(child) === "hub");
    return { server: pid, hub: hub ?? assert.fail("the hub is not running") };
  }

  #sample(): void {
    const { pid } = this.service.serving;
    for (const one of [pid, ...listDescendants(pid)]) {
      const [name, mb] = [one === pid ? "server" : nameOf(one), residentMb(one)];
      if (name !== null) this.#peaks.set(name, Math.max(this.#peaks.get(name) ?? 0, mb));
    }
  }
}

export interface CallOptions {
  readonly address?: string;
  readonly key?: string;
  readonly body?: string | Buffer;
  /** Content type of the body. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly isUpgrade?: boolean;
}

const UPGRADE = {
  ...{ connection: "Upgrade", upgrade: "websocket" },
  ...{ "sec-websocket-version": "13", "sec-websocket-key": "MDEyMzQ1Njc4OWFiY2RlZg==" },
};

/** Null for PostgreSQL. */
function nameOf(pid: number): string | null {
  return /\/(hub|runner|probe|enhance)[\w-]*\.mjs/.exec(readProc(pid, "cmdline"))?.[1] ?? null;
}

const residentMb = (pid: number): number => (Number(readProc(pid, "statm").split(" ")[1] ?? 0) * PAGE_BYTES) / 2 ** 20;

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return "";
  }
}

/** Creates one resource of every type. */
async function createResources(service: TestService, key: string): Promise<Owned> {
  const make = async (path: string, json: unknown): Promise<string> => {
    const { text, status } = await service.send("POST", path, { json, key });
    const made = JSON.parse(text) as { uuid?: string; process_uuid?: string };
    return made.process_uuid ?? made.uuid ?? assert.fail(`POST ${path}: ${status} ${text}`);
  };
  const clip = await makeClip(temporaryFolder(), 3_000, "width=64&height=48");
  const source = (await uploadVideo(service, clip, { key })).uuid;
  const process = await make(`/start?source_uuid=${source}`, { params: { every: 1000 } });
  const output = await make("/output", { alias: "messages", type: "detection_data" });
  const alert = await make("/alert", ALERT);
  const subscription = await make("/events/subscriptions", { output: ALERT.output });
  const video = await make("/output", { alias: "video", type: "rtsp", url: "rtsp://yard", settings: "360p" });
  const graph = "yard";
  const yaml = `graph: ${graph}\nchains:\n  main: [source, decode, fakesink]\n`;
  const stored = await service.send("PUT", `/graphs/${graph}`, { json: { yaml }, key });
  assert.equal(stored.status, 201, stored.text);
  const model = "three-things";
  const form = new FormData();
  form.set("file", new Blob([Uint8Array.from(makeYolox(3))]), "model.onnx");
  form.set("card", new Blob([`model: ${model}\n${CARD}`]), "card.yaml");
  const uploaded = await service.send("POST", "/models", { body: form, key });
  assert.equal(uploaded.status, 201, uploaded.text);
  const login = await service.send("GET", "/login", { key });
  const { uuid } = (JSON.parse(login.text) as { key: { uuid: string } }).key;
  return { source, process, output, alert, video, graph, model, key: uuid, subscription };
}

const CARD = `about: Finds nothing.
licence: MIT
input: { width: 64, height: 64, colours: bgr, anchor: top-left }
labels: [cat, dog, fox]
decoder: { family: yolox }
`;

/** An address that is reserved for documentation. */
export const RECEIVER = "https://203.0.113.9/notices";

export const ALERT = {
  alias: "gate",
  type: "flow-control",
  output: [{ type: "webhook", config: { url: RECEIVER } }],
  region: {
    line: [
      [0.5, 0],
      [0.5, 1],
    ],
  },
};

/** Below the limit of tenant B. Many requests: the 99th percentile of a few hundred is noise. */
const PAUSE_MS = 10;

/** Latencies of tenant B, and its failed requests. */
export interface Measurement {
  readonly timesMs: readonly number[];
  readonly failures: readonly string[];
}

/** Sends one request after another, as tenant B, until the signal. */
export async function measure(target: Target, signal: AbortSignal): Promise<Measurement> {
  const timesMs: number[] = [];
  const failures: string[] = [];
  const { process, source } = target.owned;
  const paths = ["/processes", `/process/${process}`, "/sources", `/source/${source}`, "/status", "/alerts"];
  for (let turn = 0; !signal.aborted; turn++) {
    const path = paths[turn % paths.length] ?? "/status";
    const startedMs = performance.now();
    try {
      const { status, text } = await target.call("GET", path, { key: target.keyB, address: ADDRESS.tenantB });
      if (status !== 200) failures.push(`${path}: ${status} ${text.slice(0, 200)}`);
    } catch (error) {
      failures.push(`${path}: ${String(error)}`);
    }
    timesMs.push(performance.now() - startedMs);
    await sleep(PAUSE_MS);
  }
  return { timesMs, failures };
}

export function p99Of({ timesMs }: Measurement): number {
  const sorted = timesMs.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.99)] ?? 0;
}
