/**
 * Time from `POST /start` to the first detection message, and its parts: the real service, a 720p file, the default
 * model.
 */
import { once } from "node:events";
import { openAsBlob } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { WebSocket } from "ws";
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable } from "../../cli/text.ts";
import { makeKey } from "../../server/keys/keys.ts";
import { callApi, makeClip, median, readRounds, SIZES, spreadOf, startService, withFolder } from "./harness.ts";

const ROUNDS = 10;
const MESSAGE_LIMIT_MS = 60_000;
/** Between rounds, so that the next spare runner is loaded and has opened the model. */
const PAUSE_MS = 4_000;
/** Of the median: `POST /start` to the first message. */
const LIMIT_MS = 500;

/** In the order in which they happen; milliseconds each. */
const PARTS = [
  ["checks", "key, minutes, source, graph, limit"],
  ["runner", "until a loaded runner is available"],
  ["graph", "until its graph plays"],
  ["source", "until the first frame is decoded"],
  ["answer", "rest of POST /start"],
  ["socket", "detection_data opened"],
  ["message", "until the first message"],
] as const;
type Part = (typeof PARTS)[number][0];
type Round = Readonly<Record<Part | "start" | "total", number>>;

interface Service {
  readonly url: string;
  readonly key: string;
}

export default function start(args: readonly string[], terminal: Terminal): Promise<number> {
  const rounds = readRounds(args, ROUNDS);
  return withFolder(async (folder) => {
    const clip = await makeClip(SIZES[0]);
    const key = makeKey();
    // On a busy machine it is slow, and measured all the same.
    const service = await startService(folder, key, { WINDHOVER_RUNNERS_START_SECONDS: "60" });
    try {
      const api = { url: service.url, key };
      const form = new FormData();
      form.append("file", await openAsBlob(clip), "clip.mp4");
      const { body } = await callApi<{ source_uuid: string }>(api, "POST", "/video", form);
      const done: Round[] = [];
      for (let round = 1; round <= rounds; round++) {
        const measured = await measure(api, body.source_uuid);
        done.push(measured);
        await wait(PAUSE_MS);
        terminal.say(`round ${round} of ${rounds}: ${measured.total.toFixed(0)} ms to the first message`);
      }
      return await print(done, terminal);
    } finally {
      await service.stop();
    }
  });
}

interface Started {
  readonly process_uuid: string;
  readonly detection_data_url: string;
}

async function measure(api: Service, source: string): Promise<Round> {
  const beganMs = performance.now();
  const { body, headers } = await callApi<Started>(api, "POST", `/start?source_uuid=${source}`);
  const startedMs = performance.now();
  const socket = new WebSocket(body.detection_data_url);
  const signal = AbortSignal.timeout(MESSAGE_LIMIT_MS);
  // Registered before it is open: the message may arrive with it.
  const received = once(socket, "message", { signal });
  received.catch(() => {});
  await once(socket, "open", { signal });
  const openMs = performance.now();
  await received;
  const messageMs = performance.now();
  socket.close();
  await callApi(api, "DELETE", `/process/${body.process_uuid}`);
  const parts = readTiming(headers.get("server-timing") ?? "");
  return {
    ...parts,
    answer: startedMs - beganMs - (parts.checks + parts.runner + parts.graph + parts.source),
    socket: openMs - startedMs,
    message: messageMs - openMs,
    start: startedMs - beganMs,
    total: messageMs - beganMs,
  };
}

/** `checks;dur=12, runner;dur=0`. */
function readTiming(header: string): Readonly<Record<"checks" | "runner" | "graph" | "source", number>> {
  const parts = new Map(
    [...header.matchAll(/\b(\w+);dur=([\d.]+)/g)].map(([, name = "", ms = "0"]) => [name, Number(ms)]),
  );
  const read = (name: string): number => parts.get(name) ?? 0;
  return { checks: read("checks"), runner: read("runner"), graph: read("graph"), source: read("source") };
}

async function print(rounds: readonly Round[], terminal: Terminal): Promise<number> {
  const row = (name: keyof Round, about: string): string[] => {
    const values = rounds.map((round) => round[name]);
    return [name, median(values).toFixed(0), spreadOf(values, 0), about];
  };
  const rows = [
    ...PARTS.map(([name, about]) => row(name, about)),
    row("start", "POST /start, from the request to the response"),
    row("total", "POST /start to the first detection message"),
  ];
  const heads = ["part", "median", "range", "milliseconds"];
  await terminal.print(alignTable(heads, rows, terminal.paintOut, (column) => column !== 1));
  const ratio = median(rounds.map(({ total }) => total)) / LIMIT_MS;
  const result = ratio <= 1 ? "ok" : "MISSED";
  await terminal.print(`total ÷ ${LIMIT_MS} ms: ${ratio.toFixed(2)}, ≤ 1 ${result}`);
  return ratio <= 1 ? 0 : 1;
}
