/** The media hub's process: connects to the server that forked it, listens on its request, and never outlives it. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { HUB_PROTOCOL, HubRequest, type HubSettings } from "../schemas/hub.ts";
import { OWN_SCHEMAS } from "../schemas/own-schemas.ts";
import { logUncaught } from "./errors.ts";
import { type Hub, openHub } from "./hub.ts";
import { limitLog } from "./log.ts";
import { Outbox } from "./server-channel.ts";

/** Limit for writing the last messages to the server. */
const FLUSH_MS = 1_000;
/** Limit for finishing recordings after the server has died. */
const ORPHAN_MS = 3_000;

if (process.send === undefined) {
  process.stderr.write("this is the media hub of Windhover: `windhover serve` starts it\n");
  process.exit(2);
}

// Ctrl-C and signals of a service manager reach every process of the group: the server stops the hub, in order.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

const isRequest = new Ajv2020(OWN_SCHEMAS).compile<HubRequest>(HubRequest);
const outbox = new Outbox((message, done) => {
  if (process.connected) process.send?.(message, undefined, undefined, () => done());
  else done();
});
const log = limitLog((level, message, fields) =>
  outbox.send({ type: "log", level, message, ...(fields && { fields }) }),
);
logUncaught(log);

let opening: Promise<Hub> | null = null;

process.once("disconnect", () => {
  setTimeout(() => process.kill(process.pid, "SIGKILL"), ORPHAN_MS).unref();
  void stop();
});
process.on("message", (message) => {
  if (isRequest(message)) handle(message);
  else log("error", "invalid message from the server", { type: typeOf(message) });
});
outbox.send({ type: "hello", protocol: HUB_PROTOCOL, pid: process.pid });

function handle(request: HubRequest): void {
  if (request.type === "start") void start(request.settings);
  else if (request.type === "verdict") whenOpen((hub) => hub.handleVerdict(request));
  else if (request.type === "expel") whenOpen((hub) => hub.expel(request.path, request.reason));
  else if (request.type === "recording") whenOpen((hub) => hub.allowRecording(request.allowed));
  else if (request.type === "record") whenOpen((hub) => hub.record(request.path, request.recording));
  else void stop();
}

/** One port opens before the other, and its clients already ask for authorization. */
function whenOpen(act: (hub: Hub) => void): void {
  void opening?.then(act, () => {});
}

async function start(settings: HubSettings): Promise<void> {
  if (opening !== null) return log("error", "hub already started");
  opening = openHub(settings, { send: (message) => outbox.send(message), log });
  try {
    const { rtspPort, rtmpPort } = await opening;
    outbox.send({ type: "ready", rtspPort, rtmpPort });
  } catch (error) {
    outbox.send({ type: "failed", detail: error instanceof Error ? error.message : String(error) });
    await exit(1);
  }
}

async function stop(): Promise<void> {
  const open = await opening?.catch(() => null);
  await open?.close();
  await exit(0);
}

async function exit(code: number): Promise<void> {
  setTimeout(() => process.exit(code), FLUSH_MS);
  await outbox.flush();
  process.exit(code);
}

const typeOf = (message: unknown): string => String((message as { type?: unknown } | null)?.type);
