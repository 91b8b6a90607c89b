/** A test element, copied into a checkout as `elements/boom/boom.ts`. `how` selects the failure. */
import { Type } from "typebox";
import { defineElement } from "../../elements/element.ts";

/** Several reports of the position. */
const REPORTED_MS = 2_000;

export default defineElement({
  kind: "transform",
  name: "boom",
  about: "Fails at a frame, in one of several ways.",
  example: "graph: boom-example",
  properties: Type.Object({
    how: Type.Enum(["not", "throw", "create", "update", "timer", "close", "escape", "grow"], {
      default: "throw",
      live: true,
      description: "The failure.",
    }),
    at: Type.Integer({ default: 20, description: "Index of the frame." }),
  }),
  caps: "ANY",
  create({ how, at }) {
    if (how === "create") throw new TypeError("boom in create");
    return {
      async process(frame) {
        if (frame.index !== at) return;
        if (how === "throw") throw new RangeError(`boom at ${frame.index}`);
        // Of a promise that nobody awaits: no call of the handler fails.
        if (how === "escape") void breakOut().then((text) => Promise.reject(new Error(`escape: ${text}`)));
        if (how === "grow") {
          // A runner that is killed is started again at the position it reported last: not before this frame.
          await new Promise((resolve) => setTimeout(resolve, REPORTED_MS));
          grow();
        }
        if (how === "timer") setTimeout(() => explode());
      },
      update(next) {
        if (next.how === "update") throw new Error("boom in update");
        how = next.how;
      },
      close() {
        if (how === "close") throw new Error("boom in close");
      },
    };
  },
});

/** Tries to break out of the sandbox: `read EACCES, fork EPERM, …`. The file `BOOM_TARGETS` contains the targets. */
async function breakOut(): Promise<string> {
  const { readFileSync, writeFileSync } = await import("node:fs");
  const { spawnSync } = await import("node:child_process");
  const { connect } = await import("node:net");
  const targets = JSON.parse(readFileSync(process.env.BOOM_TARGETS ?? "", "utf8"));
  const reach = (to: { path: string } | { host: string; port: number }) =>
    new Promise<void>((resolve, reject) => connect(to as { path: string }, resolve).on("error", reject));
  const attempts: Readonly<Record<string, () => unknown>> = {
    read: () => readFileSync(targets.file),
    write: () => writeFileSync(`${targets.file}.written`, ""),
    database: () => reach({ path: targets.database }),
    denied: () => reach({ host: "169.254.169.254", port: 80 }),
    fork: () => {
      const { error } = spawnSync("/bin/true");
      if (error !== undefined) throw error;
    },
    kill: () => process.kill(targets.pid),
  };
  const outcomes: string[] = [];
  for (const [name, attempt] of Object.entries(attempts)) {
    try {
      await attempt();
      outcomes.push(`${name} done`);
    } catch (error) {
      outcomes.push(`${name} ${(error as NodeJS.ErrnoException).code}`);
    }
  }
  return outcomes.join(", ");
}

function grow(): void {
  const grown: Buffer[] = [];
  for (let bytes = 0; bytes < 8 * 2 ** 30; bytes += 2 ** 26) grown.push(Buffer.alloc(2 ** 26, 1));
}

function explode(): never {
  throw new Error("boom in a timer");
}
