/** The telemetry of a process without the process: what would reach its runner and those who follow it is recorded. */
import { after } from "node:test";
import type { TelemetryInfo } from "../../schemas/api/processes.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { TelemetrySample } from "../../schemas/telemetry.ts";
import { makeConfig } from "../api/app.fixture.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import type { TelemetryLimits } from "./channels.ts";
import { ProcessTelemetry } from "./process-telemetry.ts";

/** Short, so that tests need not wait. */
const LIMITS = { retry: { firstMs: 100, maxMs: 200 } };

export const REDUCED = { timestamp: 1_760_000_000, sensor_hfov: 60, sensor_vfov: 34 };
export const FULL = {
  ...REDUCED,
  latitude: 41.4,
  longitude: 2.17,
  speed: 3.5,
  camera_pitch: -45,
  camera_yaw: 120,
  camera_roll: 0,
  altitude: 180,
  rel_altitude: 60,
};

export interface RecordedTelemetry {
  readonly telemetry: ProcessTelemetry;
  readonly delivered: TelemetrySample[];
  readonly published: JsonRecord[];
  readonly announced: TelemetryInfo[];
  /** What `deliver` waits for. */
  gate: () => Promise<unknown>;
}

/** With a running runner. Closed with the test. */
export function recordTelemetry(
  setting: TelemetrySetting,
  settings: Readonly<Record<string, string>> = {},
  limits: Partial<TelemetryLimits> = {},
  userUuid = "00000000-0000-7000-8000-000000000001",
): RecordedTelemetry {
  const delivered: TelemetrySample[] = [];
  const published: JsonRecord[] = [];
  const announced: TelemetryInfo[] = [];
  const telemetry = new ProcessTelemetry({
    ...{ setting, config: makeConfig(settings), limits: { ...LIMITS, ...limits }, graph: "detect" },
    userUuid,
    deliver: async (message) => {
      delivered.push(...("samples" in message ? message.samples : [message]));
      return recorded.gate();
    },
    calibrate: async () => 1,
    publish: (message) => published.push(message),
    announce: (info) => announced.push(info),
  });
  const recorded: RecordedTelemetry = { telemetry, delivered, published, announced, gate: async () => 1 };
  telemetry.noteRunner("running");
  after(() => telemetry.close());
  return recorded;
}

export const mqttSetting = (port: number, more: JsonRecord = {}): TelemetrySetting => ({
  type: "mqtt",
  format: "native",
  parameters: { ip: "127.0.0.1", port, topic: "drone/7", ...more },
});
