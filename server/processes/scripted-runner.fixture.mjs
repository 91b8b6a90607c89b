/** A runner that follows a script. `SCRIPTED_HELLO` in the environment spoils its first message. */
import { followScript } from "./runner-script.fixture.mjs";

const grown = [];

const { receive } = followScript(
  {
    pid: process.pid,
    send: (message) => process.connected && process.send(message),
    exit(code) {
      if (process.connected) process.disconnect();
      process.exit(code);
    },
    crash: () => process.kill(process.pid, "SIGKILL"),
    grow: () => void grown.push(Buffer.alloc(2 ** 29, 1)),
    // Without taking the processor from everybody else.
    hang: () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  },
  process.env.SCRIPTED_HELLO ?? "",
);
process.on("message", receive);
process.on("disconnect", () => process.exit(0));
