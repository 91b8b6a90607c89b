/** Children of the server that keep nothing: whatever happens to one, the next goes on. */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { WITHOUT_SECRETS } from "../config/keys.ts";

/** The kernel ends it with us, even one that hangs; Ctrl-C is for us alone. */
export function forkDisposable(entry: URL): ChildProcess {
  return fork(fileURLToPath(entry), [], {
    execPath: "setpriv",
    execArgv: ["--pdeathsig", "KILL", process.execPath],
    env: { ...process.env, ...WITHOUT_SECRETS },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    detached: true,
    serialization: "json",
  });
}

/** Resolves with how it ended, after the last that it said; never rejects. */
export function awaitExit(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.on("error", (error) => {
      if (child.pid === undefined) resolve(error.message);
    });
    // What it said last arrives before its channel closes, and that may be after its exit.
    let why: string | null = null;
    child.on("exit", (code, signal) => {
      why = signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`;
      if (!child.connected) resolve(why);
    });
    child.on("disconnect", () => {
      if (why !== null) resolve(why);
    });
  });
}
