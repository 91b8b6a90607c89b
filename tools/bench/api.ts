/** `GET /sources` of a user with 100 sources, compared with bare Hono sending the same bytes: alternating rounds. */
import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandFailure } from "../../cli/command.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable } from "../../cli/text.ts";
import { makeKey } from "../../server/keys/keys.ts";
import { type BenchChild, callApi, median, readRounds, run, startChild, startService, withFolder } from "./harness.ts";

const BARE = fileURLToPath(new URL("api/bare.ts", import.meta.url));
const SOURCES = 100;
const CONNECTIONS = 10;
const SECONDS = 4;
const WARM_SECONDS = 2;

interface Load {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export default function api(args: readonly string[], terminal: Terminal): Promise<void> {
  const rounds = readRounds(args);
  return withFolder(async (folder) => {
    const children: BenchChild[] = [];
    try {
      const key = makeKey();
      const service = await startService(folder, key, {
        WINDHOVER_RUNNERS_SPARE: "0",
        // The documentation network of the sources, which is blocked by default.
        WINDHOVER_NETWORK_ALLOW: "192.0.2.0/24",
        // The rate limit stays active: it is part of the cost of a request.
        WINDHOVER_LIMITS_REQUESTS_PER_MINUTE: "1000000000",
      });
      children.push(service);
      const answer = await registerSources(service.url, key);
      const answerFile = join(folder, "answer.json");
      await writeFile(answerFile, answer);
      const bare = await startChild(["--import", "tsx", BARE, answerFile], process.cwd(), process.env);
      children.push(bare);
      await measure(service, bare, key, rounds, answer.length, terminal);
    } finally {
      await Promise.all(children.map((child) => child.stop()));
    }
  });
}

/** Resolves with the response of `GET /sources`. */
async function registerSources(url: string, key: string): Promise<string> {
  for (let i = 0; i < SOURCES; i++) {
    const body = { alias: `Camera ${i}`, input_url: `rtsp://192.0.2.${i + 1}:554/main`, stream_type: "rtsp" };
    await callApi({ url, key }, "POST", "/stream", body);
  }
  const answer = await (await fetch(`${url}/sources`, { headers: { api_key: key } })).text();
  const { sources } = JSON.parse(answer) as { sources: unknown[] };
  if (sources.length !== SOURCES) throw new CommandFailure(`${sources.length} of ${SOURCES} sources are listed`);
  return answer;
}

async function measure(
  service: BenchChild,
  bare: BenchChild,
  key: string,
  rounds: number,
  bytes: number,
  terminal: Terminal,
): Promise<void> {
  for (const child of [service, bare]) await fire(child, key, WARM_SECONDS);
  const loads: { service: Load[]; bare: Load[] } = { service: [], bare: [] };
  for (let round = 1; round <= rounds; round++) {
    loads.bare.push(await fire(bare, key, SECONDS));
    const load = await fire(service, key, SECONDS);
    loads.service.push(load);
    terminal.say(`round ${round} of ${rounds}: ${load.perSecond.toFixed(0)} requests/s`);
  }
  const of = (list: readonly Load[], pick: keyof Load): number => median(list.map((load) => load[pick]));
  const row = (name: string, list: readonly Load[]): string[] => [
    ...[name, of(list, "perSecond").toFixed(0), of(list, "p50Ms").toFixed(1), of(list, "p99Ms").toFixed(1)],
    (of(list, "perSecond") / of(loads.bare, "perSecond")).toFixed(3),
  ];
  const rows = [row("bare Hono, a constant", loads.bare), row(`GET /sources, ${SOURCES} sources`, loads.service)];
  await terminal.print(alignTable(["server", "requests/s", "p50 ms", "p99 ms", "ratio"], rows, terminal.paintOut));
  terminal.say(`${bytes} bytes per response, ${CONNECTIONS} connections, medians of ${rounds} rounds of ${SECONDS} s`);
}

/** One round of requests, by autocannon in its own process. */
async function fire({ url }: BenchChild, key: string, seconds: number): Promise<Load> {
  const cannon = createRequire(import.meta.url).resolve("autocannon");
  const options = ["-j", "-n", "-c", String(CONNECTIONS), "-d", String(seconds), "-H", `api_key=${key}`];
  const report = JSON.parse(await run(process.execPath, [cannon, ...options, `${url}/sources`])) as {
    readonly requests: { readonly average: number };
    readonly latency: { readonly p50: number; readonly p99: number };
    readonly non2xx: number;
    readonly errors: number;
  };
  if (report.non2xx > 0 || report.errors > 0)
    throw new CommandFailure(`${report.non2xx} requests got an error response, ${report.errors} got none`);
  return { perSecond: report.requests.average, p50Ms: report.latency.p50, p99Ms: report.latency.p99 };
}
