/**
 * How many test processes run at once: two per core, and one more whenever the processors have idle time. Live streams cost
 * processor time for as long as they are watched, so more at once than keep the processors busy would make a run longer, and
 * each process so slow that it exceeds time limits, which are there for hangs. Other work of the machine, and time that a
 * hypervisor gives to other guests, leave no idle time: fewer run beside them.
 */
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { availableParallelism } from "node:os";

const SAMPLE_MS = 1_000;
/** Of which the mean counts. They begin again after each additional process, which needs time to begin its work. */
const SAMPLES = 4;
const ENOUGH_IDLE = 0.08;

/** @returns {{ all: number, idle: number }} processor time since the start of the machine; zeros where it is not known */
function readTimes() {
  try {
    // user, nice, system, idle, iowait, irq, softirq, steal
    const [, ...fields] = readFileSync("/proc/stat", "utf8").split("\n", 1)[0].trim().split(/\s+/).map(Number);
    return { all: fields.slice(0, 8).reduce((sum, field) => sum + field, 0), idle: fields[3] + fields[4] };
  } catch {
    return { all: 0, idle: 0 };
  }
}

/**
 * Gives out at most this many slots at this Unix socket. A process has its slot for as long as it is connected.
 *
 * @param {{ fewest?: number, sampleMs?: number, read?: typeof readTimes }} [options] `fewest` do not depend on idle time
 * @returns {Promise<{ close(): void }>}
 */
export async function openSlots(path, most, options = {}) {
  const { fewest = Math.min(most, 2 * availableParallelism()), sampleMs = SAMPLE_MS, read = readTimes } = options;
  const waiting = [];
  let taken = 0;
  const give = () => {
    taken += 1;
    waiting.shift().write("1");
  };
  const giveFewest = () => {
    while (taken < fewest && waiting.length > 0) give();
  };
  const server = createServer((socket) => {
    waiting.push(socket);
    socket.on("error", () => {}); // "close" follows
    socket.once("close", () => {
      const at = waiting.indexOf(socket);
      if (at >= 0) waiting.splice(at, 1);
      else taken -= 1;
      giveFewest();
    });
    socket.resume();
    giveFewest();
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(path, resolve));
  let samples = [read()];
  const timer = setInterval(() => {
    const now = read();
    const [first] = samples;
    const isMeasured = samples.length >= SAMPLES && now.all > first.all;
    samples = [...samples, now].slice(-SAMPLES);
    if (taken >= most || waiting.length === 0 || !isMeasured) return;
    if ((now.idle - first.idle) / (now.all - first.all) < ENOUGH_IDLE) return;
    give();
    samples = [now];
  }, sampleMs);
  return {
    close() {
      clearInterval(timer);
      server.close();
    },
  };
}

/** Resolves when there is a slot for this process, which it has until it exits. */
export async function takeSlot(path) {
  const socket = connect(path);
  await new Promise((resolve, reject) => socket.once("data", resolve).once("error", reject));
  socket.on("error", () => {});
  socket.unref();
}
