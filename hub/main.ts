/** The media hub's process: connects to the server that forked it, listens on its request, and never outlives it. */
import { RequestRejected } from "../ipc/channel.ts";
import { connectToParent, exitWhenWritten, sayHello } from "../ipc/parent.ts";
import { HUB_PROTOCOL, type HubMessage, type HubPorts, HubRequest, type HubSettings } from "../schemas/hub.ts";
import { logUncaught } from "./errors.ts";
import { type Hub, openHub } from "./hub.ts";
import { limitLog } from "./log.ts";

const channel = connectToParent<HubMessage, HubRequest>({
  program: "the media hub of Windhover: `windhover serve` starts it",
  receives: HubRequest,
  // The number of other messages is bounded by connections and streams.
  droppable: ["log", "stats"],
  onMessage: (message) => handle(message),
  onRequest: async (request) => request.type === "start" && start(request.settings),
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
  if (request.type === "stop") void stop();
  else
    opening?.then(
      (hub) => hub.handle(request),
      () => {},
    );
}

async function start(settings: HubSettings): Promise<HubPorts> {
  if (opening !== null) throw new RequestRejected("wrong_state", "the hub is already started");
  opening = openHub(settings, channel, log);
  try {
    return (await opening).ports;
  } catch (error) {
    void exitWhenWritten(channel, 1);
    throw error;
  }
}

async function stop(): Promise<void> {
  const open = await opening?.catch(() => null);
  await open?.close();
  await exitWhenWritten(channel, 0);
}
