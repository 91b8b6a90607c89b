/**
 * A runner under the control of an attacker: at its start it tries what `params` of its job say, and replies with the
 * result of each attempt: "done", or the code of the error.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";

const PIECE_BYTES = 64 * 2 ** 20;
const grown = [];

const misdeeds = {
  read: (path) => void readFileSync(path),
  list: (path) => void readdirSync(path),
  write: (path) => writeFileSync(path, "mine"),
  fork: (program) => {
    const { error } = spawnSync(program);
    if (error !== undefined) throw error;
  },
  kill: (pid) => process.kill(pid, "SIGKILL"),
  connect: (address) =>
    new Promise((resolve, reject) => {
      const socket = connect(address);
      socket.once("error", reject);
      socket.once("connect", () => resolve(void socket.destroy()));
    }),
  reserve: (bytes) => {
    while (grown.length * PIECE_BYTES < bytes) grown.push(Buffer.allocUnsafeSlow(PIECE_BYTES));
  },
  /** Native memory, written to, as fast as it can. */
  allocate: (bytes) => {
    while (grown.length * PIECE_BYTES < bytes) grown.push(Buffer.alloc(PIECE_BYTES, 1));
  },
};

async function attempt([kind, value]) {
  try {
    await misdeeds[kind](value);
    return "done";
  } catch (error) {
    return error.code ?? error.message;
  }
}

process.on("message", async ({ type, id, job }) => {
  if (type !== "start") return process.exit(0);
  const { tries = [] } = job.params;
  const outcomes = [];
  for (const one of tries) outcomes.push(await attempt(one));
  const status = readFileSync("/proc/self/status", "utf8");
  const privileges = Object.fromEntries(
    [...status.matchAll(/^(Uid|CapEff|NoNewPrivs):\s+(\w+)/gm)].map((row) => row.slice(1)),
  );
  const names = Object.keys(process.env);
  const { sourceUri, attach } = job;
  process.send({ type: "reply", id, error: null, result: { outcomes, privileges, names, sourceUri, attach } });
});
process.send({ type: "hello", protocol: 8, pid: process.pid });
