/** A flight through the running service: the clip as its source, telemetry as a drone sends it, and what comes back. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { Detections } from "../api/process-client.fixture.ts";
import { createKey, type TestService, uploadVideo } from "../api/service.fixture.ts";
import { type Finding, findStart, judge, takeSpans } from "./judge.ts";
import { Random } from "./random.ts";
import { type TelemetryFaults, tellTelemetry, USUAL } from "./telemetry.ts";
import { type Truth, tellTruth } from "./truth.ts";
import type { Shot } from "./write-clip.ts";

/** By radio and network, from when it was so until it is sent. */
const DELAY_MS = { least: 20, spread: 40 };

export class ServiceFlight {
  readonly started: StartedProcess;
  /** Unix time of the first frame, by the messages of the service. */
  readonly startMs: number;
  readonly #service: TestService;
  readonly #key: string;
  readonly #shot: Shot;
  readonly #truth: Truth;
  readonly #detections: Detections;
  #isOver = false;

  private constructor(
    service: TestService,
    key: string,
    shot: Shot,
    truth: Truth,
    started: StartedProcess,
    detections: Detections,
    startMs: number,
  ) {
    this.started = started;
    this.startMs = startMs;
    this.#service = service;
    this.#key = key;
    this.#shot = shot;
    this.#truth = truth;
    this.#detections = detections;
  }

  /** Resolves when enough was seen to know which frame is which. */
  static async takeOff(
    service: TestService,
    clip: string,
    shot: Shot,
    telemetry_cfg: NonNullable<SourceRecord["telemetry_cfg"]>,
  ): Promise<ServiceFlight> {
    // Not the first key of the service: its processes are recorded, and that takes time which is short here.
    const key = await createKey(service, `drone-${randomUUID().slice(0, 8)}`);
    const source = await uploadVideo(service, clip, { key });
    await service.expect(200, "PATCH", `/source/${source.uuid}`, { key, json: { telemetry_cfg } });
    const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, { key });
    const detections = await Detections.open(started.detection_data_url);
    const truth = tellTruth(shot.flight, shot.lens, shot.fps);
    let startMs: number | null = null;
    await detections.until("cars where they should be", () => {
      startMs = findStart(detections.messages, truth);
      return startMs !== null;
    });
    return new ServiceFlight(service, key, shot, truth, started, detections, startMs ?? assert.fail());
  }

  /**
   * Resolves with the last message. Each is sent when a drone would send it; those of the time before it was known when the
   * flight began come at once, as after a link that was down.
   */
  async sendTelemetry(send: (text: string) => void, faults: TelemetryFaults = USUAL): Promise<void> {
    const random = new Random(5);
    const { flight, lens } = this.#shot;
    for (const { seconds, message } of tellTelemetry(flight, lens, faults, this.startMs)) {
      const dueMs = this.startMs + seconds * 1000 + DELAY_MS.least + DELAY_MS.spread * random.next();
      if (dueMs > Date.now()) await sleep(dueMs - Date.now());
      if (this.#isOver) return;
      send(JSON.stringify(message));
    }
  }

  /** How many messages have come: they tell what was before and what after, however late a busy machine is. */
  get heard(): number {
    return this.#detections.messages.length;
  }

  /** Resolves when messages are of frames from now on, and not of those that were still in the pipeline. */
  async catchUp(): Promise<void> {
    const nowMs = Date.now();
    const { messages } = this.#detections;
    await this.#detections.until("frames from now on", () => Date.parse(messages.at(-1)?.timestamp ?? "") >= nowMs);
  }

  /** Until so many places have been told, over whole spans of so many seconds of the flight, after a message. */
  async gather(places: number, span: number, from = 0): Promise<void> {
    const what = `${places} places over ${span} s`;
    await this.#detections.until(what, () => takeSpans(this.judge(from), span).length >= places);
  }

  info(): Promise<ProcessRecord> {
    return this.#service.expect<ProcessRecord>(200, "GET", `/process/${this.started.process_uuid}`, { key: this.#key });
  }

  async set(node: string, properties: object): Promise<void> {
    const path = `/process/${this.started.process_uuid}/graph`;
    await this.#service.expect(200, "PATCH", path, { key: this.#key, json: { [node]: properties } });
  }

  /** Ends it where it is. */
  async land(): Promise<void> {
    await this.#service.expect(200, "DELETE", `/process/${this.started.process_uuid}`, { key: this.#key });
    this.#isOver = true;
    // Known better now than in the beginning.
    const startMs = findStart(this.#detections.messages, this.#truth) ?? this.startMs;
    assert.ok(Math.abs(startMs - this.startMs) < 500 / this.#shot.fps, `off by ${startMs - this.startMs} ms`);
  }

  /** Places that were told, of messages from one to before another. */
  judge(from = 0, to = this.heard): readonly Finding[] {
    return judge(this.#detections.messages.slice(from, to), this.#truth, this.startMs);
  }

  async waitFor(what: string, holds: (record: ProcessRecord) => boolean): Promise<void> {
    for (let record = await this.info(); !holds(record); record = await this.info()) {
      assert.equal(record.state, "running", `${what}: ${JSON.stringify(record)}`);
      await sleep(100);
    }
  }
}
