/** One answer, read to its end as fast as it comes, and how much memory its server had meanwhile. */
import { readFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { CommandFailure } from "../../../cli/command.ts";

export interface Reading {
  readonly bytes: number;
  readonly firstMs: number;
  readonly seconds: number;
  /** At most; 0 where nobody tells. */
  readonly serverBytes: number;
}

interface Order {
  readonly key: string;
  readonly isPacked: boolean;
  readonly pid: number;
}

const LOOK_MS = 50;

export async function readAnswer(url: string, { key, isPacked, pid }: Order): Promise<Reading> {
  let serverBytes = 0;
  const look = () => {
    serverBytes = Math.max(serverBytes, measureMemory(pid));
  };
  const timer = setInterval(look, LOOK_MS);
  const began = performance.now();
  try {
    const headers = { api_key: key, ...(isPacked && { "accept-encoding": "gzip" }) };
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      get(url, { headers }, resolve).on("error", reject),
    );
    if (response.statusCode !== 200) throw new CommandFailure(`the report was answered with ${response.statusCode}`);
    let [bytes, firstMs] = [0, 0];
    for await (const chunk of response as AsyncIterable<Buffer>) {
      firstMs ||= performance.now() - began;
      bytes += chunk.length;
    }
    look();
    return { bytes, firstMs, seconds: (performance.now() - began) / 1000, serverBytes };
  } finally {
    clearInterval(timer);
  }
}

function measureMemory(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
