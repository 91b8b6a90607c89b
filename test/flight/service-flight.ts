/** A flight through the running service: the clip as its source, telemetry like a drone's, and the received positions. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Calibration } from "../../schemas/api/calibration.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { Detections } from "../api/process-client.fixture.ts";
import { createKey, type ServiceClient, uploadVideo } from "../api/service.fixture.ts";
import { evaluate, type Finding, findStart, takeSpans } from "./evaluate.ts";
import type { Shot } from "./render.ts";
import { simulateTelemetry, type TelemetryFaults, USUAL } from "./telemetry.ts";
import { describeTruth, isWhole, type Truth } from "./truth.ts";
import { Random } from "./world.ts";

/** Transmission delay of telemetry. */
const DELAY_MS = { least: 20, spread: 40 };

export class ServiceFlight {
  readonly started: StartedProcess;
  /** Unix time of the first frame, derived from the messages of the service. */
  readonly startMs: number;
  readonly #service: ServiceClient;
  readonly #key: string;
  readonly #shot: Shot;
  readonly #truth: Truth;
  readonly #detections: Detections;
  #isOver = false;

  private constructor(
    service: ServiceClient,
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

  /** Resolves when enough objects were received to identify the frames. */
  static async takeOff(
    service: ServiceClient,
    clip: string,
    shot: Shot,
    telemetry_cfg: NonNullable<SourceRecord["telemetry_cfg"]>,
    every: "auto" | number = "auto",
  ): Promise<ServiceFlight> {
    // Not the first key: its processes are recorded, which takes processor time.
    const key = await createKey(service, `drone-${randomUUID().slice(0, 8)}`);
    const source = await uploadVideo(service, clip, { key });
    await service.expect(200, "PATCH", `/source/${source.uuid}`, { key, json: { telemetry_cfg } });
    const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, {
      ...{ key, json: { params: { every } } },
    });
    const detections = await Detections.open(started.detection_data_url);
    const truth = describeTruth(shot.flight, shot.lens, shot.fps);
    let startMs: number | null = null;
    await detections.until("cars at their true positions", () => {
      startMs = findStart(detections.messages, truth);
      return startMs !== null;
    });
    return new ServiceFlight(service, key, shot, truth, started, detections, startMs ?? assert.fail());
  }

  /**
   * Resolves after the last message. Messages are sent at their time of the flight; those from before this call are sent
   * at once, as after a lost link.
   */
  async sendTelemetry(send: (text: string) => void, faults: TelemetryFaults = USUAL): Promise<void> {
    const random = new Random(5);
    const { flight, lens } = this.#shot;
    for (const { seconds, message } of simulateTelemetry(flight, lens, faults, this.startMs)) {
      const dueMs = this.startMs + seconds * 1000 + DELAY_MS.least + DELAY_MS.spread * random.next();
      if (dueMs > Date.now()) await sleep(dueMs - Date.now());
      if (this.#isOver) return;
      send(JSON.stringify(message));
    }
  }

  /** Number of received messages: a position in the flight that does not depend on the speed of the machine. */
  get received(): number {
    return this.#detections.messages.length;
  }

  /** Resolves when the frames that are in the pipeline now have been received. */
  async catchUp(): Promise<void> {
    const nowMs = Date.now();
    const { messages } = this.#detections;
    await this.#detections.until("frames from now on", () => Date.parse(messages.at(-1)?.timestamp ?? "") >= nowMs);
  }

  /** Until enough positions were received, over whole spans of the flight, after message number `from`. */
  async gather(positions: number, span: number, from = 0): Promise<void> {
    const what = `${positions} positions over ${span} s`;
    await this.#detections.until(what, () => takeSpans(this.evaluate(from), span).length >= positions);
  }

  info(): Promise<ProcessRecord> {
    return this.#service.expect<ProcessRecord>(200, "GET", `/process/${this.started.process_uuid}`, { key: this.#key });
  }

  async set(node: string, properties: object): Promise<void> {
    const path = `/process/${this.started.process_uuid}/graph`;
    await this.#service.expect(200, "PATCH", path, { key: this.#key, json: { [node]: properties } });
  }

  /** A car in a frame of some seconds ago, whose position is known. */
  landmark(secondsAgo: number): { x: number; y: number; timestamp: string; latitude: number; longitude: number } {
    const { fps, lens, frames } = this.#truth;
    const until = Math.floor(((Date.now() - this.startMs) / 1000 - secondsAgo) * fps);
    for (let index = until; index > until - 5 * fps; index--) {
      const target = frames[index]?.targets.find(({ box }) => isWhole(box, lens));
      if (target === undefined) continue;
      const { latitude, longitude, box } = target;
      const [left, top, width, height] = box;
      const [x, y] = [(left + width / 2) / lens.width, (top + height) / lens.height];
      const timestamp = new Date(this.startMs + (index * 1000) / fps).toISOString();
      return { x, y, timestamp, latitude, longitude };
    }
    return assert.fail("no car was in the picture");
  }

  /** With landmarks. */
  async calibrate(landmarks: readonly object[]): Promise<Calibration> {
    const { source_uuid } = await this.info();
    const path = `/source/${source_uuid}/calibration`;
    return this.#service.expect<Calibration>(200, "POST", path, { key: this.#key, json: { landmarks } });
  }

  /** Stops the process. */
  async land(): Promise<void> {
    await this.#service.expect(200, "DELETE", `/process/${this.started.process_uuid}`, { key: this.#key });
    this.#isOver = true;
    // More accurate with all messages.
    const startMs = findStart(this.#detections.messages, this.#truth) ?? this.startMs;
    assert.ok(Math.abs(startMs - this.startMs) < 500 / this.#shot.fps, `off by ${startMs - this.startMs} ms`);
  }

  /** Positions of messages from number `from` to before `to`. */
  evaluate(from = 0, to = this.received): readonly Finding[] {
    return evaluate(this.#detections.messages.slice(from, to), this.#truth, this.startMs);
  }

  async waitFor(what: string, holds: (record: ProcessRecord) => boolean): Promise<void> {
    for (let record = await this.info(); !holds(record); record = await this.info()) {
      assert.equal(record.state, "running", `${what}: ${JSON.stringify(record)}`);
      await sleep(100);
    }
  }
}
