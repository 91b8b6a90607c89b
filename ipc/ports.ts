/** The transports that a `Channel` runs on. */
import type { ChildProcess } from "node:child_process";
import type { Port } from "./channel.ts";

/** `process` in a child that was started with an IPC channel, or that child in its parent. */
export function processPort(end: ChildProcess | NodeJS.Process): Port {
  return {
    get isOpen() {
      return end.connected === true;
    },
    send(message, done) {
      if (end.connected) end.send?.(message, undefined, undefined, done);
      else done();
    },
    onMessage: (listener) => void end.on("message", listener),
    onClose: (listener) => void end.once("disconnect", listener),
  };
}
