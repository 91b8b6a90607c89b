/** What standard output is told of a server that has started: for people as lines, for machines as JSON. */
import type { RunningServer } from "../../server/main.ts";
import type { Terminal } from "../terminal.ts";

/** The key is shown this once, and never again: all that is kept of it is its digest. */
export async function announceKey(key: string, terminal: Terminal): Promise<void> {
  if (terminal.isJson || !terminal.isOutLive) {
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
    url,
    listen,
    rtsp,
    rtmp,
    docs: `${url}/docs`,
    openapi: `${url}/openapi.json`,
    metrics: `${url}/metrics`,
  };
  if (terminal.isJson || !terminal.isOutLive) {
    await terminal.print(JSON.stringify({ event: "ready", ...addresses, pid: process.pid }));
    return;
  }
  const ready = terminal.paintOut("green", "ready");
  const behind = listen === url ? "" : `  listens on ${listen}`;
  const media = `RTSP ${rtsp}  RTMP ${rtmp}`;
  await terminal.print(`${ready}  API ${url}${behind}  ${media}  docs ${addresses.docs}  metrics ${addresses.metrics}`);
}
