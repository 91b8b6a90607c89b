/** The transports that a `Channel` runs on. */
import type { ChildProcess } from "node:child_process";
import type { MessagePort, Worker } from "node:worker_threads";
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

/** A worker thread in its parent, or `parentPort` in the thread. What is sent is never refused: it is queued by Node. */
export function threadPort(end: Worker | MessagePort): Port {
  let isOpen = true;
  const onClose = (listener: () => void): void => {
    for (const event of ["exit", "close"]) (end as Worker).once(event as "exit", listener);
  };
  onClose(() => {
    isOpen = false;
  });
  return {
    get isOpen() {
      return isOpen;
    },
    send(message, done) {
      end.postMessage(message);
      done();
    },
    onMessage: (listener) => void (end as Worker).on("message", listener),
    onClose,
  };
}
