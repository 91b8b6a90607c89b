/** Requests about processes, to the node that runs them or to another one that passes them on. */
import { Agent, request } from "node:http";
import { CommandFailure } from "../../../cli/command.ts";

export interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Comparison {
  readonly direct: Latency;
  readonly passed: Latency;
}

type Call = readonly [method: string, path: string];

/** Requests/s: each worker repeats its calls in order on a connection of its own, for `seconds`. */
export async function fire(
  url: string,
  key: string,
  workers: readonly (readonly Call[])[],
  seconds: number,
): Promise<number> {
  let count = 0;
  const beganMs = performance.now();
  await Promise.all(
    workers.map((calls) =>
      withConnection(url, key, async (send) => {
        // Always to the last call, which undoes the first.
        while (performance.now() < beganMs + seconds * 1000)
          for (const call of calls) {
            await send(call);
            count += 1;
          }
      }),
    ),
  );
  return count / ((performance.now() - beganMs) / 1000);
}

/** One request at a time, alternating between both nodes, so that a busy machine delays both alike. */
export function compare(
  ownerUrl: string,
  otherUrl: string,
  key: string,
  calls: readonly Call[],
  seconds: number,
): Promise<Comparison> {
  const directMs: number[] = [];
  const passedMs: number[] = [];
  const untilMs = performance.now() + seconds * 1000;
  return withConnection(ownerUrl, key, (direct) =>
    withConnection(otherUrl, key, async (passed) => {
      while (performance.now() < untilMs)
        for (const [send, latenciesMs] of [
          [direct, directMs],
          [passed, passedMs],
        ] as const)
          for (const call of calls) {
            const sentMs = performance.now();
            await send(call);
            latenciesMs.push(performance.now() - sentMs);
          }
      return { direct: describe(directMs), passed: describe(passedMs) };
    }),
  );
}

const describe = (latenciesMs: readonly number[]): Latency => ({
  p50Ms: quantile(latenciesMs, 0.5),
  p99Ms: quantile(latenciesMs, 0.99),
});

async function withConnection<T>(
  url: string,
  key: string,
  work: (send: (call: Call) => Promise<void>) => Promise<T>,
): Promise<T> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    return await work(([method, path]) => send(agent, url, key, method, path));
  } finally {
    agent.destroy();
  }
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

const send = (agent: Agent, url: string, key: string, method: string, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const sent = request(url + path, { method, agent, headers: { api_key: key } }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      response.once("error", reject);
      response.once("end", () => {
        if (response.statusCode === 200) resolve();
        else reject(new CommandFailure(`${method} ${path}: ${response.statusCode} ${body.slice(0, 300)}`));
      });
    });
    sent.once("error", reject);
    sent.end();
  });
