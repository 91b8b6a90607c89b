/** HAProxy of Debian with the configuration in docker/cluster, in front of nodes of a test. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort, isListening } from "./ports.fixture.ts";

export const PROGRAM = "/usr/sbin/haproxy";
const SHIPPED = new URL("../docker/cluster/haproxy.cfg", import.meta.url);

/** For `skip` of a test: false, or the reason. */
export const haproxyIsMissing: false | string = existsSync(PROGRAM) ? false : "haproxy is not installed";

export interface BalancedNode {
  readonly http: number;
  readonly rtsp: number;
  readonly rtmp: number;
}

export interface Haproxy {
  readonly url: string;
  readonly rtspPort: number;
  readonly rtmpPort: number;
  /** As on its page of statistics: `UP`, `DOWN` or another word, by the name of the node. */
  states(): Promise<Readonly<Record<string, string>>>;
}

/** Ends with the test. The nodes are on this machine; the names of the shipped file are node1, node2 … */
export async function openHaproxy(nodes: readonly BalancedNode[]): Promise<Haproxy> {
  const folder = mkdtempSync(join(tmpdir(), "windhover-haproxy-"));
  const ports = new Map<number, number>();
  for (const port of [8080, 8554, 1935, 8404]) ports.set(port, await findFreePort());
  const portOf = (port: number): number => ports.get(port) ?? assert.fail(`port ${port}`);
  const file = join(folder, "haproxy.cfg");
  const lines = readFileSync(SHIPPED, "utf8").split("\n");
  writeFileSync(file, lines.flatMap((line) => replace(line, nodes, portOf)).join("\n"));
  let log = "";
  const child = spawn(PROGRAM, ["-db", "-f", file], { stdio: ["ignore", "ignore", "pipe"] });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log = (log + text).slice(-4000);
  });
  after(async () => {
    const gone = once(child, "exit");
    if (child.exitCode === null && child.kill("SIGKILL")) await gone;
    rmSync(folder, { recursive: true, force: true });
  });
  while (!(await isListening(portOf(8404)))) {
    assert.equal(child.exitCode, null, `haproxy exited: ${log}`);
    await sleep(20);
  }
  return {
    ...{ url: `http://127.0.0.1:${portOf(8080)}`, rtspPort: portOf(8554), rtmpPort: portOf(1935) },
    async states() {
      const csv = await (await fetch(`http://127.0.0.1:${portOf(8404)}/;csv`)).text();
      const rows = csv.split("\n").map((line) => line.split(","));
      return Object.fromEntries(
        rows.filter(([proxy, name]) => proxy === "nodes" && name?.startsWith("node")).map((row) => [row[1], row[17]]),
      );
    },
  };
}

function replace(line: string, nodes: readonly BalancedNode[], portOf: (port: number) => number): readonly string[] {
  const bind = /^ {2}bind :(\d+)$/.exec(line);
  if (bind !== null) return [`  bind 127.0.0.1:${portOf(Number(bind[1]))}`];
  if (line.startsWith("  default-server port ")) return [];
  const server = /^ {2}server node(\d+) \S+:(\d+)$/.exec(line);
  if (server === null) return [line];
  const node = nodes[Number(server[1]) - 1];
  if (node === undefined) return [];
  const port = { 8080: node.http, 8554: node.rtsp, 1935: node.rtmp }[Number(server[2])];
  return [`  server node${server[1]} 127.0.0.1:${port} port ${node.http}`];
}
