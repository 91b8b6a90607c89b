/** What `serve --demo` does and says. */
import type { Logger } from "pino";
import type { RunningServer } from "../../server/main.ts";
import type { Terminal } from "../terminal.ts";

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
