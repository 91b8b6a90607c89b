/** The media hub's process: connects to the server that forked it, listens on its request, and never outlives it. */
import { connectToParent, exitWhenWritten, sayHello } from "../ipc/parent.ts";
import { HUB_PROTOCOL, type HubMessage, HubRequest, type HubSettings } from "../schemas/hub.ts";
import { logUncaught } from "./errors.ts";
import { type Hub, openHub } from "./hub.ts";
import { limitLog } from "./log.ts";

const channel = connectToParent<HubMessage, HubRequest>({
  program: "the media hub of Windhover: `windhover serve` starts it",
  receives: HubRequest,
  // The number of other messages is bounded by connections and streams.
  droppable: ["log", "stats"],
  onMessage: (request) => handle(request),
  onInvalid: (fault) => log("error", "invalid message from the server", { fault }),
  // Recordings are finished after the server has died.
  onOrphan: () => void stop(),
});
const log = limitLog((level, message, fields) =>
  channel.send({ type: "log", level, message, ...(fields && { fields }) }),
);
logUncaught(log);

let opening: Promise<Hub> | null = null;

sayHello(HUB_PROTOCOL);

function handle(request: HubRequest): void {
  if (request.type === "start") void start(request.settings);
  else if (request.type === "expel") whenOpen((hub) => hub.expel(request.path, request.reason));
  else if (request.type === "recording") whenOpen((hub) => hub.allowRecording(request.allowed));
  else if (request.type === "record") whenOpen((hub) => hub.record(request.path, request.recording));
  else void stop();
}

function whenOpen(act: (hub: Hub) => void): void {
  void opening?.then(act, () => {});
}

async function start(settings: HubSettings): Promise<void> {
  if (opening !== null) return log("error", "hub already started");
  opening = openHub(settings, { server: channel, log });
  try {
    const { rtspPort, rtmpPort } = await opening;
    channel.send({ type: "ready", rtspPort, rtmpPort });
  } catch (error) {
    channel.send({ type: "failed", detail: error instanceof Error ? error.message : String(error) });
    await exitWhenWritten(channel, 1);
  }
}

async function stop(): Promise<void> {
  const open = await opening?.catch(() => null);
  await open?.close();
  await exitWhenWritten(channel, 0);
}
