import { constants } from "node:os";
import { loadConfig } from "../../server/config/load.ts";
import type { Log } from "../../server/log/log.ts";
import type { RunningServer } from "../../server/main.ts";
import { type Command, CommandFailure, EXIT, expectPositionals } from "../command.ts";
import { announceHint, announceKey, announceReady, showDemo } from "../serve/announce.ts";
import type { Terminal } from "../terminal.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export default {
  name: "serve",
  about: "Starts the service: its API, its database, and everything that should be running.",
  usage: "",
  options: {
    config: { type: "string", value: "FILE", about: "Instead of windhover.yaml in the working directory." },
    demo: { type: "boolean", about: "Show a street with boxes on it: a clip as a live source, with a process on it." },
    json: { type: "boolean", about: "Print the ready line as JSON, in a terminal too." },
  },
  notes:
    "The first start on an empty database prints a master key. When everything listens, the addresses of the console, the API and the media server go to standard output, as one line of JSON (`ready`) where that is no terminal; the log goes to standard error.\nWith --demo a clip of a street is fetched once, published as a live source over and over, and looked at. What keeps the demo from running does not keep the service from it.\nCtrl-C stops it cleanly, a second one at once. What runs is started again with the next start.",
  examples: ["serve", "serve --demo", "serve --config /etc/windhover.yaml", "serve --json 2>windhover.log"],
  async run(given, terminal) {
    expectPositionals(given, 0, 0, "nothing after serve");
    const { config } = loadConfig({ file: given.text("config") ?? null, folder: process.cwd(), env: process.env });
    // Nobody needs to read the ready line for the service to go on.
    terminal.onClosed(() => {});
    const { openLog } = await import("../../server/log/log.ts");
    const log = openLog(config.log);
    const ending = awaitEnd(log);
    try {
      // Most of the service: neither its help nor a bad configuration should wait for it.
      const [{ startServer }, { gatherKnowledge }] = await Promise.all([
        import("../../server/main.ts"),
        import("../serve/gather-knowledge.ts"),
      ]);
      const knowledge = await gatherKnowledge();
      for (const { name, place, reason } of knowledge.elements.broken?.values() ?? [])
        log.logger.warn({ element: name, place, reason }, "element left out: it could not be loaded");
      const server = await startServer({ config, knowledge, log: log.logger, signal: ending.signal });
      await announce(server, terminal);
      if (given.flag("demo")) void showDemo(server, terminal, log.logger);
      else if (server.resumed === 0) await announceHint(terminal);
      const code = await ending.wanted;
      const isClean = await server.stop();
      log.logger.info({ isClean }, "stopped");
      return isClean ? code : EXIT.failed;
    } catch (error) {
      if (ending.signal.aborted) return ending.wanted;
      throw describe(error);
    } finally {
      await log.close();
    }
  },
} satisfies Command;

async function announce(server: RunningServer, terminal: Terminal): Promise<void> {
  if (server.firstKey !== null) await announceKey(server.firstKey, terminal);
  await announceReady(server, terminal);
}

interface Ending {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal;
  /** Resolves with the exit code. */
  readonly wanted: Promise<number>;
}

/** The first signal asks, the second does not: runners and the database end with us, however we end. */
function awaitEnd({ logger, closeNow }: Log): Ending {
  const abort = new AbortController();
  const wanted = new Promise<number>((resolve) => {
    const end = (code: number): void => {
      if (abort.signal.aborted) {
        logger.warn("stopped at once");
        closeNow();
        process.exit(code === EXIT.ok ? EXIT.failed : code);
      }
      abort.abort(new Error("it was told to stop"));
      resolve(code);
    };
    for (const signal of SIGNALS)
      process.on(signal, () => {
        logger.info({ signal }, abort.signal.aborted ? "told to stop again" : "told to stop");
        end(abort.signal.aborted ? 128 + constants.signals[signal] : EXIT.ok);
      });
    process.on("uncaughtException", (error) => {
      logger.fatal({ err: error }, "a fault of ours: the service stops, and should be started again");
      end(EXIT.failed);
    });
    process.on("unhandledRejection", (reason) => {
      const err = reason instanceof Error ? reason : new Error(String(reason));
      logger.error({ err }, "a fault of ours: something failed and nobody minded it");
    });
  });
  return { signal: abort.signal, wanted };
}

/** What an operator can do something about is told without a stack. */
function describe(error: unknown): unknown {
  const isTold = error instanceof Error && ["DatabaseFault", "KeyFault", "StartFault"].includes(error.name);
  return isTold ? new CommandFailure(error.message, { cause: error }) : error;
}
