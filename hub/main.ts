/** The media hub's life: loads everything, says hello, listens as the server tells it to, and never outlives it. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { HUB_PROTOCOL, type HubMessage, HubRequest, type HubSettings } from "../schemas/hub.ts";
import { OWN_SCHEMAS } from "../schemas/own-schemas.ts";
import { outliveFaults } from "./guard.ts";
import { type Hub, openHub } from "./hub.ts";
import { limitLog } from "./log.ts";
import { Outbox } from "./outbox.ts";

/** What the server has not read by then it never will. */
const FAREWELL_MS = 1_000;
/** Without a server, recordings are brought to an end within this time, or not at all. */
const ORPHAN_MS = 3_000;

if (process.send === undefined) {
  process.stderr.write("this is the media hub of Windhover: `windhover serve` starts it\n");
  process.exit(2);
}

// A Ctrl-C in the terminal reaches all of its processes, a service manager's signal too: it is the server that ends the
// hub, in order.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

const isRequest = new Ajv2020(OWN_SCHEMAS).compile<HubRequest>(HubRequest);
const outbox = new Outbox((message, done) => {
  if (process.connected) process.send?.(message, undefined, undefined, () => done());
  else done();
});
const tell = (message: HubMessage): void => outbox.put(message);
const log = limitLog((level, message, fields) => tell({ type: "log", level, message, ...(fields && { fields }) }));
outliveFaults(log);

let opening: Promise<Hub> | null = null;

process.once("disconnect", () => {
  setTimeout(() => process.kill(process.pid, "SIGKILL"), ORPHAN_MS).unref();
  void leave();
});
process.on("message", (message) => {
  if (isRequest(message)) take(message);
  else log("error", "the server said something that no server of this version says", { type: typeOf(message) });
});
tell({ type: "hello", protocol: HUB_PROTOCOL, pid: process.pid });

function take(request: HubRequest): void {
  if (request.type === "start") void start(request.settings);
  else if (request.type === "verdict") whenOpen((hub) => hub.settle(request));
  else if (request.type === "expel") whenOpen((hub) => hub.expel(request.path, request.reason));
  else if (request.type === "recording") whenOpen((hub) => hub.allowRecording(request.allowed));
  else if (request.type === "record") whenOpen((hub) => hub.record(request.path, request.recording));
  else void leave();
}

/** One port listens before the other, and asks who may come in. */
function whenOpen(act: (hub: Hub) => void): void {
  void opening?.then(act, () => {});
}

async function start(settings: HubSettings): Promise<void> {
  if (opening !== null) return log("error", "the media hub was started twice");
  opening = openHub(settings, { tell, log });
  try {
    const { rtspPort, rtmpPort } = await opening;
    tell({ type: "ready", rtspPort, rtmpPort });
  } catch (error) {
    tell({ type: "failed", detail: error instanceof Error ? error.message : String(error) });
    await exit(1);
  }
}

async function leave(): Promise<void> {
  const open = await opening?.catch(() => null);
  await open?.close();
  await exit(0);
}

async function exit(code: number): Promise<void> {
  setTimeout(() => process.exit(code), FAREWELL_MS);
  await outbox.empty();
  process.exit(code);
}

const typeOf = (message: unknown): string => String((message as { type?: unknown } | null)?.type);
