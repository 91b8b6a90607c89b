import { statSync } from "node:fs";
import { connect, createServer } from "node:net";

const WAIT_LIMIT_MS = 20 * 60_000;

/**
 * Runs `work` while no other set-up works on this checkout. The lock is a socket name in Linux's abstract namespace: the
 * kernel releases it with its process, so there are no stale locks.
 */
export async function withLock(root, work, { onWait } = {}) {
  const { dev, ino } = statSync(root, { bigint: true });
  const name = `\0windhover-setup-${dev}-${ino}`;
  const deadlineMs = Date.now() + WAIT_LIMIT_MS;
  let holder = await listen(name);
  if (holder === null) onWait?.();
  while (holder === null) {
    if (Date.now() > deadlineMs) {
      throw new Error("another set-up of this checkout has been running for 20 minutes; end it and run this again");
    }
    await waitForRelease(name, deadlineMs);
    holder = await listen(name);
  }
  try {
    return await work();
  } finally {
    holder.close();
  }
}

/** Resolves with the server that holds the name, or null when another process holds it. */
function listen(name) {
  return new Promise((resolve, reject) => {
    // Keeps the connections of waiting processes open: they close when this process releases the lock or dies.
    const waiting = new Set();
    const server = createServer((socket) => {
      waiting.add(socket);
      socket.unref();
      socket.on("error", () => {});
      socket.on("close", () => waiting.delete(socket));
    });
    server.once("error", (error) => (error.code === "EADDRINUSE" ? resolve(null) : reject(error)));
    server.listen(name, () => {
      server.unref();
      resolve({
        close() {
          server.close();
          for (const socket of waiting) socket.destroy();
        },
      });
    });
  });
}

function waitForRelease(name, deadlineMs) {
  return new Promise((resolve) => {
    const socket = connect(name);
    const timer = setTimeout(() => socket.destroy(), Math.max(0, deadlineMs - Date.now()));
    socket.resume();
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
