/**
 * How many test processes run at once. Where a hypervisor gives the processors to other guests for a part of the time, the
 * usual number would make each process so slow that it exceeds time limits, which are there for hangs: fewer run then.
 */
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";

const SAMPLE_MS = 2_000;
/** Samples that count. */
const SAMPLES = 5;
const FEWEST = 2;

/** @returns {{ all: number, stolen: number }} processor time since the start of the machine; zeros where it is not known */
function readTimes() {
  try {
    // user, nice, system, idle, iowait, irq, softirq, steal
    const [, ...fields] = readFileSync("/proc/stat", "utf8").split("\n", 1)[0].trim().split(/\s+/).map(Number);
    const [all, stolen] = [fields.slice(0, 8).reduce((sum, field) => sum + field, 0), fields[7]];
    return { all, stolen };
  } catch {
    return { all: 0, stolen: 0 };
  }
}

/** @param {number} stolen part of the processor time that other guests of the machine use */
export const countSlots = (most, stolen) => Math.min(most, Math.max(FEWEST, Math.round(most * (1 - stolen))));

/**
 * Gives out the slots at this Unix socket. A process has its slot for as long as it is connected.
 *
 * @returns {Promise<{ close(): void }>}
 */
export async function openSlots(path, most) {
  const waiting = [];
  let taken = 0;
  let slots = most;
  const give = () => {
    while (taken < slots && waiting.length > 0) {
      taken += 1;
      waiting.shift().write("1");
    }
  };
  const server = createServer((socket) => {
    waiting.push(socket);
    socket.on("error", () => {}); // "close" follows
    socket.once("close", () => {
      const at = waiting.indexOf(socket);
      if (at >= 0) waiting.splice(at, 1);
      else taken -= 1;
      give();
    });
    socket.resume();
    give();
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(path, resolve));
  const samples = [readTimes()];
  const timer = setInterval(() => {
    const now = readTimes();
    const [first] = samples;
    slots = countSlots(most, now.all > first.all ? (now.stolen - first.stolen) / (now.all - first.all) : 0);
    samples.push(now);
    if (samples.length > SAMPLES) samples.shift();
    give();
  }, SAMPLE_MS);
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
