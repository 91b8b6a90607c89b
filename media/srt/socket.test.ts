import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const SOCKET = fileURLToPath(new URL("socket.ts", import.meta.url));

for (const [name, end] of [
  ["runs out of work", ""],
  ["calls exit", "process.exit(0);"],
] as const) {
  test(`a process with an open listener ends when it ${name}`, () => {
    const program = `
      import { sharedSrtSockets } from ${JSON.stringify(SOCKET)};
      const options = { host: "127.0.0.1", port: 0, latencyMs: 120, passphrase: null };
      const { port } = sharedSrtSockets().listen(options, { caller() {}, connected() {} });
      sharedSrtSockets().connect({ ...options, port, streamId: null, timeoutMs: 1000 });
      console.log(port > 0);
      ${end}`;
    const child = spawnSync(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", program], {
      encoding: "utf8",
      timeout: 60_000,
      killSignal: "SIGKILL",
    });
    assert.deepEqual([child.status, child.signal, child.stdout], [0, null, "true\n"], child.stderr);
  });
}
