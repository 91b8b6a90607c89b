/**
 * Runs a program that examines a file of a stranger and prints one result: confined, with limits for time, memory and output.
 *
 * Without `ipc/`: the program has its arguments and prints one result; a channel would give a program that parses files of
 * strangers more to send, and the server more to read.
 */
import { watchUsage } from "../../ipc/child.ts";
import type { Confinement } from "./confinement.ts";

const MAX_OUTPUT_BYTES = 65_536;

interface ProgramOrder {
  readonly entry: URL;
  /** The files that it reads. */
  readonly files: readonly string[];
  readonly memoryBytes: number;
  readonly seconds: number;
  /** In texts: `the probe`. */
  readonly name: string;
}

interface ProgramEnd {
  readonly output: string;
  readonly errors: string;
  /** How it ended. */
  readonly end: string;
}

/** Never rejects. It is killed when the signal is aborted. */
export function runOnce(confinement: Confinement, order: ProgramOrder, signal: AbortSignal): Promise<ProgramEnd> {
  const { entry, files, memoryBytes, seconds, name } = order;
  const child = confinement.spawn({ entry, args: [...files], memoryBytes, reads: files });
  let end = "";
  const kill = (reason: string) => {
    end ||= reason;
    child.kill("SIGKILL");
  };
  const timer = setTimeout(() => kill(`it took longer than ${seconds} s`), seconds * 1000);
  const unwatch = watchUsage(child.pid, memoryBytes, kill);
  const onAbort = () => kill("the request was aborted");
  signal.addEventListener("abort", onAbort, { once: true });
  const output = collect(child.stdout, () => kill("it wrote too much output"));
  const errors = collect(child.stderr);
  return new Promise((resolve) => {
    const finish = (reason: string) => {
      clearTimeout(timer);
      unwatch();
      signal.removeEventListener("abort", onAbort);
      resolve({ output: output(), errors: errors(), end: end || reason });
    };
    child.once("error", (error) => finish(`${name} could not be started (${error.message})`));
    child.once("close", (code, signal) => finish(`${name} ended with ${signal ?? code}`));
  });
}

/** Keeps the beginning. */
function collect(stream: NodeJS.ReadableStream | null, onTooMuch?: () => void): () => string {
  let text = "";
  stream?.setEncoding("utf8");
  stream?.on("data", (chunk: string) => {
    if (text.length < MAX_OUTPUT_BYTES) text += chunk;
    else onTooMuch?.();
  });
  return () => text.slice(0, MAX_OUTPUT_BYTES);
}
