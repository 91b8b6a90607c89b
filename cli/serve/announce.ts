/** What standard output is told of a server that has started: for people as lines, for machines as JSON. */

import type { Logger } from "pino";
import type { RunningServer } from "../../server/main.ts";
import type { Terminal } from "../terminal.ts";

/** The key is shown this once, and never again: all that is kept of it is its digest. */
export async function announceKey(key: string, terminal: Terminal): Promise<void> {
  if (isForMachines(terminal)) {
    await terminal.print(JSON.stringify({ event: "master_key", api_key: key }));
    return;
  }
  const lines = [
    "",
    "  The first key, a master key. It is shown only now: keep it.",
    "",
    `    ${terminal.paintOut("bold", key)}`,
    "",
  ];
  await terminal.print(lines.join("\n"));
}

export async function announceReady(server: RunningServer, terminal: Terminal): Promise<void> {
  const { url, listen, rtsp, rtmp } = server;
  const addresses = {
    console: `${url}/console`,
    url,
    listen,
    rtsp,
    rtmp,
    docs: `${url}/docs`,
    openapi: `${url}/openapi.json`,
    metrics: `${url}/metrics`,
  };
  if (isForMachines(terminal)) {
    await terminal.print(JSON.stringify({ event: "ready", ...addresses, pid: process.pid }));
    return;
  }
  const behind = listen === url ? "" : `, listens on ${listen}`;
  const lines = [
    `${terminal.paintOut("green", "ready")}  Console  ${terminal.paintOut("bold", addresses.console)}`,
    `       API      ${url}${behind}  (docs ${addresses.docs}, metrics ${addresses.metrics})`,
    `       Media    ${rtsp}  ${rtmp}`,
  ];
  await terminal.print(lines.join("\n"));
}

/** For people alone: where nothing runs, how to see something. */
export async function announceHint(terminal: Terminal): Promise<void> {
  if (isForMachines(terminal)) return;
  const command = terminal.paintOut("bold", "npm start -- --demo");
  await terminal.print(`       Nothing runs yet. ${command} shows a street with boxes on it; so does the console.`);
}

const isForMachines = (terminal: Terminal): boolean => terminal.isJson || !terminal.isOutLive;

// What `serve --demo` does and says.
/** Never rejects: a service without its demo is a service. */
export async function showDemo(
  { startDemo, url }: Pick<RunningServer, "startDemo" | "url">,
  terminal: Terminal,
  log: Logger,
): Promise<void> {
  const isForMachines = terminal.isJson || !terminal.isOutLive;
  if (!isForMachines)
    await terminal.print("       The demo is being started; the first time its clip is fetched, which takes a while …");
  try {
    const { source_uuid, process_uuid } = await startDemo();
    const address = `${url}/console/processes/${process_uuid}`;
    if (isForMachines)
      await terminal.print(JSON.stringify({ event: "demo", console: address, source_uuid, process_uuid }));
    else await terminal.print(`${terminal.paintOut("green", "demo")}   ${terminal.paintOut("bold", address)}`);
  } catch (error) {
    const detail = (error as Error).message;
    log.warn({ err: error }, "the demo could not be started");
    if (isForMachines) await terminal.print(JSON.stringify({ event: "demo_failed", detail }));
    else await terminal.print(`${terminal.paintOut("yellow", "demo")}   cannot be shown: ${detail}`);
  }
}
