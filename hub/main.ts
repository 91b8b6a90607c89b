/** The media hub's process: connects to the server that forked it, listens on its request, and never outlives it. */
import { connectToParent, exitWhenWritten } from "../ipc/parent.ts";
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

channel.send({ type: "hello", protocol: HUB_PROTOCOL, pid: process.pid });

function handle(request: HubRequest): void {
  if (request.type === "start") void start(request.settings);
  else if (request.type === "stop") void stop();
  // One port opens before the other, and its clients already ask for authorization.
  else
    opening?.then(
      (hub) => hub.handle(request),
      () => {},
    );
}

async function start(settings: HubSettings): Promise<void> {
  if (opening !== null) return log("error", "hub already started");
  opening = openHub(settings, (message) => channel.send(message), log);
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
