/** What `serve` prints once it runs: lines on a terminal, else JSON. */

import type { Logger } from "pino";
import type { RunningServer } from "../../server/main.ts";
import { ServiceError } from "../../server/service-error.ts";
import type { Terminal } from "../terminal.ts";

/** The key is shown only once: the database keeps its digest. */
export async function announceKey(key: string, terminal: Terminal): Promise<void> {
  if (isForMachines(terminal)) {
    await terminal.print(JSON.stringify({ event: "master_key", api_key: key }));
    return;
  }
  const lines = [
    "",
    "  Your master key. It is shown only once: store it now.",
    "",
    `    ${terminal.paintOut("bold", key)}`,
    "",
  ];
  await terminal.print(lines.join("\n"));
}

export async function announceReady(server: RunningServer, terminal: Terminal): Promise<void> {
  const { url, listen, rtsp, rtmp, srt } = server;
  const addresses = {
    console: `${url}/console`,
    url,
    listen,
    rtsp,
    rtmp,
    srt,
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
    `       Media    ${rtsp}  ${rtmp}  ${srt}`,
  ];
  await terminal.print(lines.join("\n"));
}

/** Only on a terminal: what to do while nothing runs. */
export async function announceHint(terminal: Terminal): Promise<void> {
  if (isForMachines(terminal)) return;
  const command = terminal.paintOut("bold", "npm start -- --demo");
  await terminal.print(`       Nothing runs yet. ${command} starts a demo; so does the console.`);
}

const START_AGAIN = "       Start it again with the button in the console, or with POST /demo and your key.";

const isForMachines = (terminal: Terminal): boolean => terminal.isJson || !terminal.isOutLive;

/** Starts the demo and prints its address. Never rejects: the service runs without it. */
export async function showDemo(
  { startDemo, url }: Pick<RunningServer, "startDemo" | "url">,
  terminal: Terminal,
  log: Logger,
): Promise<void> {
  const forMachines = isForMachines(terminal);
  if (!forMachines) await terminal.print("       Starting the demo …");
  const showStage = (stage: "fetching" | "converting") => {
    if (!forMachines && stage === "fetching") void terminal.print("       Downloading its clip, which takes a while …");
  };
  try {
    const { source_uuid, process_uuid } = await startDemo(showStage);
    const address = `${url}/console/processes/${process_uuid}`;
    if (forMachines)
      await terminal.print(JSON.stringify({ event: "demo", console: address, source_uuid, process_uuid }));
    else await terminal.print(`${terminal.paintOut("green", "demo")}   ${terminal.paintOut("bold", address)}`);
  } catch (error) {
    const detail = (error as Error).message;
    // With a code it is an expected failure, whose stack says nothing.
    log.warn(error instanceof ServiceError ? { detail } : { err: error }, "demo start failed");
    if (forMachines) await terminal.print(JSON.stringify({ event: "demo_failed", detail }));
    else await terminal.print(`${terminal.paintOut("yellow", "demo")}   failed: ${detail}\n${START_AGAIN}`);
  }
}
