/** The log of the service: to standard error, JSON for machines, lines for people. */
import { type Bindings, type ChildLoggerOptions, type Logger, pino } from "pino";
import type { Config } from "../../schemas/config.ts";
import { formatLine, type Paint } from "./line.ts";
import { LineWriter } from "./line-writer.ts";
import { maskRecord, maskText } from "./mask.ts";

export interface Log {
  readonly logger: Logger;
  /** Resolves when all of it is written, or nobody reads it in time. */
  close(): Promise<void>;
  /** The same at once, for the moment before the process dies. */
  closeNow(): void;
}

interface Output {
  readonly fd: number;
  readonly isTTY?: boolean;
}

const CLOSE_MS = 2_000;

export function openLog({ level }: Config["log"], output: Output = process.stderr, env = process.env): Log {
  const paint = makePaint(output, env);
  const isForPeople = output.isTTY === true;
  const show = (json: string): string => (isForPeople ? formatLine(json, paint) : json);
  const tellLoss = (lines: number): string =>
    show(
      `${JSON.stringify({ level: 40, time: Date.now(), lost: lines, msg: "lines of the log were not read in time" })}\n`,
    );
  const writer = new LineWriter(output.fd, tellLoss);
  // `flushSync` is what pino calls after a fatal line.
  const destination = { write: (json: string) => writer.write(show(json)), flushSync: () => writer.flush() };
  const logger = pino(
    {
      level,
      base: null,
      formatters: { log: (record) => maskRecord(record) },
      serializers: {
        msg: (text: unknown) => (typeof text === "string" ? maskText(text) : text),
        err: (error) => error,
      },
    },
    destination,
  );
  // Children inherit this; pino has no formatter for what they are given.
  const makeChild = logger.child as unknown as (bindings: Bindings, options?: ChildLoggerOptions) => Logger;
  function child(this: Logger, bindings: Bindings, options?: ChildLoggerOptions): Logger {
    return makeChild.call(this, maskRecord(bindings), options);
  }
  Object.assign(logger, { child });
  const closeNow = (): void => writer.drainNow();
  // However the process ends, short of being killed.
  process.once("exit", closeNow);
  const close = async (): Promise<void> => {
    await writer.drain(CLOSE_MS);
    process.off("exit", closeNow);
  };
  return { logger, close, closeNow };
}

/** https://no-color.org */
function makePaint({ isTTY }: Output, env: NodeJS.ProcessEnv): Paint {
  const isColoured = isTTY === true && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb";
  return (code, text) => (isColoured ? `\x1b[${code}m${text}\x1b[0m` : text);
}
