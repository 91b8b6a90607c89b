import { constants } from "node:os";
import type { LoadedElements } from "../../elements/index.ts";
import { readFolders } from "../../schemas/folders.ts";
import { loadConfig } from "../../server/config/load.ts";
import type { Log } from "../../server/log/log.ts";
import type { RunningServer } from "../../server/main.ts";
import { type Command, CommandFailure, EXIT, expectPositionals } from "../command.ts";
import { onStopSignal } from "../run/interrupt.ts";
import { announceHint, announceKey, announceReady, showDemo } from "../serve/announce.ts";
import type { Terminal } from "../terminal.ts";
import { configSources } from "../workspace.ts";

export default {
  name: "serve",
  about: "Start the service: API, database, media server, and the processes that should run.",
  usage: "",
  options: {
    config: {
      type: "string",
      value: "FILE",
      about: "Configuration file; default: windhover.yaml in the working directory, or the nearest one above it.",
    },
    demo: { type: "boolean", about: "Start a demo: a street clip as a live source, with object detection." },
    json: { type: "boolean", about: "Print the ready line as JSON, also on a terminal." },
  },
  notes:
    "The first start on an empty database prints a master key. When the service is ready, it prints the addresses of the console, the API and the media server to standard output, as one line of JSON (`ready`) if that is not a terminal. The log goes to standard error.\nWith --demo, a street clip is downloaded once, played in a loop as a live source, and analysed. If the demo fails, the service keeps running.\nCtrl-C stops the service cleanly, a second Ctrl-C at once. Running processes are resumed at the next start.",
  examples: ["serve", "serve --demo", "serve --config /etc/windhover.yaml", "serve --json 2>windhover.log"],
  async run(given, terminal) {
    expectPositionals(given, 0, 0, "no arguments");
    const { config } = loadConfig(configSources(given.text("config")));
    // The service keeps running when the reader of the ready line goes away.
    terminal.onClosed(() => {});
    const { openLog } = await import("../../server/log/log.ts");
    const log = openLog(config.log);
    const ending = onStopSignals(log);
    let stopWatching = (): void => {};
    try {
      // Loaded here: the help and a configuration error must not wait for it.
      const [{ startServer }, { gatherKnowledge }] = await Promise.all([
        import("../../server/main.ts"),
        import("../serve/gather-knowledge.ts"),
      ]);
      const knowledge = await gatherKnowledge(config);
      for (const { name, place, reason } of knowledge.elements.broken?.values() ?? [])
        log.logger.warn({ element: name, place, reason }, "element not loaded");
      stopWatching = await startWatching(knowledge.elements, log);
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
      stopWatching();
      await log.close();
    }
  },
} satisfies Command;

/** `elements.watch`. Resolves with the function that ends it. */
async function startWatching(elements: LoadedElements, { logger }: Log): Promise<() => void> {
  const folders = readFolders();
  const { built, isWatched } = folders;
  if (built === null || !isWatched) return () => {};
  const { watchElements } = await import("../serve/watch-elements.ts");
  return watchElements({ ...folders, built }, elements, logger);
}

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

/** The first signal stops the service cleanly, the second at once; runners and the database end with this process. */
function onStopSignals({ logger, closeNow }: Log): Ending {
  const abort = new AbortController();
  const wanted = new Promise<number>((resolve) => {
    const end = (code: number): void => {
      if (abort.signal.aborted) {
        logger.warn("stopped immediately");
        closeNow();
        process.exit(code === EXIT.ok ? EXIT.failed : code);
      }
      abort.abort(new Error("stop requested"));
      resolve(code);
    };
    onStopSignal((signal) => {
      logger.info({ signal }, abort.signal.aborted ? "second stop signal received" : "stop signal received");
      end(abort.signal.aborted ? 128 + constants.signals[signal] : EXIT.ok);
    });
    process.on("uncaughtException", (error) => {
      logger.fatal({ err: error }, "uncaught exception: the service stops");
      end(EXIT.failed);
    });
    process.on("unhandledRejection", (reason) => {
      const err = reason instanceof Error ? reason : new Error(String(reason));
      logger.error({ err }, "unhandled rejection");
    });
  });
  return { signal: abort.signal, wanted };
}

/** Errors that an operator can fix are shown without a stack. */
function describe(error: unknown): unknown {
  const isExplained = error instanceof Error && ["DatabaseFault", "KeyFault", "StartFault"].includes(error.name);
  return isExplained ? new CommandFailure(error.message, { cause: error }) : error;
}
