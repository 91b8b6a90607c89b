/** The whole service with real publishers, players and processes, and measurements of its hub from outside. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { findDescendants } from "../../cli/serve/serving.fixture.ts";
import type { OutputRecord } from "../../schemas/api/outputs.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { Detections } from "../api/process-client.fixture.ts";
import { MASTER_KEY, TestService } from "../api/service.fixture.ts";
import { isListening } from "../ports.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { makeLoop, Player, type PlayerKind, Publisher } from "./media-clients.fixture.ts";

const run = promisify(execFile);
const POLL_MS = 25;
const USER = "master";
const HUB = /hub\.mjs/;

export type Protocol = "rtsp" | "rtmp";

export interface Recording {
  readonly uuid: string;
  readonly source_uuid: string;
  readonly started_at: string;
  readonly stopped_at: string | null;
  readonly duration_seconds: number;
  readonly segments: readonly { readonly download_url: string }[];
}

export interface Running extends StartedProcess {
  readonly detections: Detections;
}

export class MediaStage {
  readonly service: TestService;
  readonly ports: Readonly<Record<Protocol, number>>;
  readonly clip: string;
  readonly #clients: (Publisher | Player)[] = [];

  private constructor(service: TestService, ports: Readonly<Record<Protocol, number>>, clip: string) {
    this.service = service;
    this.ports = ports;
    this.clip = clip;
  }

  static async open(env: NodeJS.ProcessEnv): Promise<MediaStage> {
    const service = await TestService.start({ env: { WINDHOVER_RECORDINGS_RESERVE_BYTES: "0", ...env } });
    const { rtsp = "", rtmp = "" } = await service.serving.event("ready");
    const ports = { rtsp: Number(new URL(rtsp).port), rtmp: Number(new URL(rtmp).port) };
    return new MediaStage(service, ports, await makeLoop(join(service.folder.path, "loop.mp4")));
  }

  async close(): Promise<void> {
    await this.clear();
    await this.service.close();
  }

  /** Stops all publishers and players. */
  async clear(): Promise<void> {
    await Promise.all(this.#clients.splice(0).map((client) => client.stop()));
  }

  /** Without a key. */
  address(protocol: Protocol, path: string): string {
    return `${protocol}://127.0.0.1:${this.ports[protocol]}/${USER}/${path}`;
  }

  register(protocol: Protocol, path: string): Promise<SourceRecord> {
    const json = { alias: path, input_url: this.address(protocol, path), stream_type: protocol };
    return this.service.expect<SourceRecord>(201, "POST", "/stream", { json });
  }

  publish(protocol: Protocol, path: string, clip = this.clip): Publisher {
    const publisher = new Publisher(clip, `${this.address(protocol, path)}?api_key=${MASTER_KEY}`);
    this.#clients.push(publisher);
    return publisher;
  }

  play(kind: PlayerKind, path: string): Player {
    const player = new Player(kind, this.#withKey(path));
    this.#clients.push(player);
    return player;
  }

  async statusOf({ uuid }: SourceRecord): Promise<SourceRecord["status"]> {
    return (await this.service.expect<SourceRecord>(200, "GET", `/source/${uuid}`)).status;
  }

  /** Resolves with the elapsed milliseconds. */
  async awaitStatus(source: SourceRecord, status: SourceRecord["status"]): Promise<number> {
    const sinceMs = performance.now();
    await poll(`${source.alias} is ${status}`, async () => (await this.statusOf(source)) === status);
    return performance.now() - sinceMs;
  }

  /** Polls the status until it is stopped; the returned function resolves with all statuses in order. */
  async followStatus(source: SourceRecord): Promise<() => Promise<readonly string[]>> {
    const seen = [await this.statusOf(source)];
    let isRunning = true;
    const following = (async () => {
      while (isRunning) {
        const status = await this.statusOf(source);
        if (status !== seen.at(-1)) seen.push(status);
        await wait(POLL_MS);
      }
    })();
    return async () => {
      isRunning = false;
      await following;
      return seen;
    };
  }

  /** Almost no inference, but a message for every frame. */
  async startProcess({ uuid }: SourceRecord): Promise<Running> {
    const json = { params: { every: 1000, include_predicted: true } };
    const started = await this.service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${uuid}`, { json });
    return { ...started, detections: await Detections.open(started.detection_data_url) };
  }

  info({ process_uuid }: StartedProcess): Promise<ProcessRecord> {
    return this.service.expect<ProcessRecord>(200, "GET", `/process/${process_uuid}`);
  }

  async addOutput(path: string): Promise<OutputRecord> {
    const json = { alias: path, type: "rtsp", url: `rtsp://${path}`, settings: "360p" };
    return this.service.expect<OutputRecord>(201, "POST", "/output", { json });
  }

  async attach({ process_uuid }: StartedProcess, { uuid }: OutputRecord): Promise<void> {
    await this.service.expect(200, "POST", `/process/${process_uuid}/${uuid}`);
  }

  async detach({ process_uuid }: StartedProcess, { uuid }: OutputRecord): Promise<void> {
    await this.service.expect(200, "DELETE", `/process/${process_uuid}/${uuid}`);
  }

  async outputStatus({ uuid }: OutputRecord): Promise<OutputRecord["status"]> {
    return (await this.service.expect<OutputRecord>(200, "GET", `/output/${uuid}`)).status;
  }

  /** Decodes the first pictures; rejects with decoding errors. */
  async decode(path: string, pictures: number): Promise<void> {
    const input = ["-rtsp_transport", "tcp", "-i", this.#withKey(path)];
    const { stderr } = await run("ffmpeg", [
      ...["-v", "error", "-nostdin", ...input, "-frames:v", String(pictures), "-f", "null", "-"],
    ]);
    assert.equal(stderr, "", `decoding errors in ${path}`);
  }

  async recordingsOf({ uuid }: SourceRecord): Promise<readonly Recording[]> {
    const { recordings } = await this.service.expect<{ recordings: Recording[] }>(200, "GET", "/sources/recordings");
    return recordings.filter(({ source_uuid }) => source_uuid === uuid);
  }

  async awaitClosed(source: SourceRecord, recordingUuid: string): Promise<Recording> {
    return poll(`a recording of ${source.alias} is closed`, async () => {
      const found = (await this.recordingsOf(source)).find(({ uuid }) => uuid === recordingUuid);
      return found !== undefined && found.stopped_at !== null && found;
    });
  }

  /** Decodes the first file of a recording with ffprobe. */
  async probe({ uuid, segments }: Recording): Promise<{ readonly seconds: number; readonly pictures: number }> {
    const file = join(this.service.folder.path, `${uuid}.mp4`);
    const answer = await fetch(segments[0]?.download_url ?? assert.fail("the recording has no segment"));
    await writeFile(file, new Uint8Array(await answer.arrayBuffer()));
    const { stdout, stderr } = await run("ffprobe", [
      ...["-v", "error", "-count_frames", "-select_streams", "v", "-of", "json"],
      ...["-show_entries", "stream=nb_read_frames:format=duration", file],
    ]);
    assert.equal(stderr, "", "decoding errors in the recording");
    const { streams, format } = JSON.parse(stdout) as Probed;
    return { seconds: Number(format.duration), pictures: Number(streams[0]?.nb_read_frames) };
  }

  get hubPid(): number {
    return this.#pids(HUB)[0] ?? assert.fail("the hub is not running");
  }

  get runnerPids(): readonly number[] {
    return this.#pids(/runner\.mjs/);
  }

  /** `connections`, `missed_pictures_total`, … */
  async metric(name: string): Promise<number> {
    const text = await this.service.expect<string>(200, "GET", "/metrics");
    const value = new RegExp(`^windhover_media_${name} (\\S+)$`, "m").exec(text)?.[1];
    return Number(value ?? assert.fail(`no metric ${name}`));
  }

  /** Resolves with the milliseconds until both ports accept connections again. */
  async killHub(): Promise<number> {
    const { hubPid } = this;
    const sinceMs = performance.now();
    process.kill(hubPid, "SIGKILL");
    await poll("both ports listen again", async () => {
      // The ports of the old process accept connections until its last thread has ended.
      const [pid] = this.#pids(HUB);
      if (pid === undefined || pid === hubPid) return false;
      const open = await Promise.all(Object.values(this.ports).map(isListening));
      return open.every((isOpen) => isOpen);
    });
    return performance.now() - sinceMs;
  }

  #withKey(path: string): string {
    return this.address("rtsp", path).replace("://", `://any:${MASTER_KEY}@`);
  }

  #pids(pattern: RegExp): readonly number[] {
    return findDescendants(this.service.serving.pid, pattern);
  }
}

interface Probed {
  readonly streams: readonly { readonly nb_read_frames: string }[];
  readonly format: { readonly duration: string };
}

function readOr(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

export const rssOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readOr(`/proc/${pid}/status`))?.[1] ?? assert.fail(`process ${pid} has exited`)) /
  1024;

export const filesOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? assert.fail("no measurements");

/** Start time of Node on a machine for which the limits are meant. */
const USUAL_START_MS = 100;

/** Slowness of the machine, from the start time of Node: 1 or more. */
export async function measureSlowness(): Promise<number> {
  const tookMs: number[] = [];
  for (let i = 0; i < 3; i++) {
    const sinceMs = performance.now();
    await once(spawn(process.execPath, ["-e", "0"], { stdio: "ignore" }), "exit");
    tookMs.push(performance.now() - sinceMs);
  }
  return Math.max(1, median(tookMs) / USUAL_START_MS);
}
