/**
 * From `POST /start` to the first detection message, and the parts of it: the real service, a file of 720p, the default
 * model. `bench start [ROUNDS]`.
 */
import { once } from "node:events";
import { openAsBlob } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as rest } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import { makeKey } from "../../server/keys/keys.ts";
import { CommandFailure } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import { startChild } from "./api/child.ts";
import { makeClip, median, readRounds, SIZES } from "./engine.ts";

const COMMAND = fileURLToPath(new URL("../windhover.mjs", import.meta.url));
const ROUNDS = 10;
const MESSAGE_LIMIT_MS = 60_000;
/** Between rounds: the next spare runner is loaded meanwhile, as it is where starts do not follow each other so closely. */
const REST_MS = 4_000;

/** In the order in which they happen; milliseconds each. */
const PARTS = [
  ["checks", "key, minutes, source, graph, limit"],
  ["runner", "until a loaded runner is had"],
  ["graph", "until its graph plays"],
  ["source", "until the first frame is decoded"],
  ["answer", "what is left of POST /start"],
  ["socket", "detection_data opened"],
  ["message", "until the first message"],
] as const;
type Part = (typeof PARTS)[number][0];
type Round = Readonly<Record<Part | "start" | "total", number>>;

export default async function start(args: readonly string[], terminal: Terminal): Promise<void> {
  const rounds = args.length === 0 ? ROUNDS : readRounds(args);
  const clip = await makeClip(SIZES[0]);
  const folder = await mkdtemp(join(tmpdir(), "windhover-bench-"));
  await chmod(folder, 0o755);
  const key = makeKey();
  const service = await startChild([COMMAND, "serve"], folder, {
    ...process.env,
    WINDHOVER_DATA_DIR: join(folder, "data"),
    WINDHOVER_BOOTSTRAP_KEY: key,
    WINDHOVER_HTTP_PORT: "0",
    WINDHOVER_RTSP_PORT: "0",
    WINDHOVER_RTMP_PORT: "0",
  });
  try {
    const client = new Client(service.url, key);
    const source = await client.upload(clip);
    const done: Round[] = [];
    for (let round = 1; round <= rounds; round++) {
      const measured = await client.measure(source);
      done.push(measured);
      await rest(REST_MS);
      terminal.say(`round ${round} of ${rounds}: ${measured.total.toFixed(0)} ms to the first message`);
    }
    print(done, terminal);
  } finally {
    await service.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

class Client {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, key: string) {
    this.#url = url;
    this.#headers = { api_key: key };
  }

  async upload(clip: string): Promise<string> {
    const form = new FormData();
    form.append("file", await openAsBlob(clip), "clip.mp4");
    const { body } = await this.#call("POST", "/video", form);
    return String(body.source_uuid);
  }

  async measure(source: string): Promise<Round> {
    const beganMs = performance.now();
    const { body, headers } = await this.#call("POST", `/start?source_uuid=${source}`);
    const startedMs = performance.now();
    const socket = new WebSocket(String(body.detection_data_url));
    const signal = AbortSignal.timeout(MESSAGE_LIMIT_MS);
    // Asked for before it is open: the message may come with it.
    const told = once(socket, "message", { signal });
    told.catch(() => {});
    await once(socket, "open", { signal });
    const openMs = performance.now();
    await told;
    const messageMs = performance.now();
    socket.close();
    await this.#call("DELETE", `/process/${body.process_uuid}`);
    const parts = readTiming(headers.get("server-timing") ?? "");
    const inside = parts.checks + parts.runner + parts.graph + parts.source;
    return {
      ...parts,
      answer: startedMs - beganMs - inside,
      socket: openMs - startedMs,
      message: messageMs - openMs,
      start: startedMs - beganMs,
      total: messageMs - beganMs,
    };
  }

  async #call(method: string, path: string, body: FormData | null = null) {
    const response = await fetch(`${this.#url}${path}`, { method, headers: this.#headers, body });
    if (!response.ok) throw new CommandFailure(`${method} ${path}: ${response.status} ${await response.text()}`);
    return { body: (await response.json()) as Record<string, unknown>, headers: response.headers };
  }
}

/** `checks;dur=12, runner;dur=0`. */
function readTiming(header: string): Readonly<Record<"checks" | "runner" | "graph" | "source", number>> {
  const parts = new Map(
    [...header.matchAll(/\b(\w+);dur=([\d.]+)/g)].map(([, name = "", ms = "0"]) => [name, Number(ms)]),
  );
  const read = (name: string): number => parts.get(name) ?? 0;
  return { checks: read("checks"), runner: read("runner"), graph: read("graph"), source: read("source") };
}

function print(rounds: readonly Round[], terminal: Terminal): void {
  const line = (name: keyof Round, about: string): string => {
    const values = rounds.map((round) => round[name]);
    const spread = `${Math.min(...values).toFixed(0)} … ${Math.max(...values).toFixed(0)}`;
    return `${name.padEnd(8)}${median(values).toFixed(0).padStart(6)}  ${spread.padEnd(16)}${about}`;
  };
  terminal.print(`${"part".padEnd(8)}${"median".padStart(6)}  ${"of the rounds".padEnd(16)}milliseconds`);
  for (const [name, about] of PARTS) terminal.print(line(name, about));
  terminal.print(line("start", "POST /start, from the request to the answer"));
  terminal.print(line("total", "POST /start to the first detection message"));
}
