/** The calibration of the heading of sources. */
import { Calibration, NewCalibration } from "../../schemas/api/calibration.ts";
import { Deleted } from "../../schemas/api/records.ts";
import { LANDMARK_CHANNEL, LandmarkAnswer, type LandmarkQuestion } from "../../schemas/telemetry.ts";
import type { Process } from "../processes/process.ts";
import type { Supervisor } from "../processes/supervisor.ts";
import { ServiceError } from "../service-error.ts";
import {
  type CalibrationRow,
  deleteCalibration,
  findCalibration,
  findRunningOn,
  saveCalibration,
} from "../store/calibrations.ts";
import type { Sql } from "../store/client.ts";
import { findSource } from "../store/sources.ts";
import type { Calibrations } from "../telemetry/calibrations.ts";
import { checkBy } from "../validation.ts";
import { type AnyEndpoint, defineEndpoints, deleted, ok } from "./endpoint.ts";
import type { Forwarder } from "./forward.ts";

interface CalibrationDeps {
  readonly sql: Sql;
  readonly processes: Pick<Supervisor, "findOnSource">;
  readonly calibrations: Pick<Calibrations, "refresh">;
  readonly forwarder?: Forwarder | undefined;
}

const define = defineEndpoints("Sources");
const PATH = "/source/{source_uuid}/calibration";

export function calibrationEndpoints(deps: CalibrationDeps): readonly AnyEndpoint[] {
  const { sql, processes, calibrations, forwarder } = deps;
  return [
    define("POST", PATH, "calibrateSource", {
      summary: "Calibrate the heading of a source with landmarks",
      description:
        "A process must run on the source, with telemetry that has position and attitude. A landmark is a point of the picture whose coordinates you know; one is enough, and several in different frames reduce the error. Choose landmarks that are far away: 1 m is 0.6 degrees at 100 m. The offset between the bearing of the landmarks and that of their picture is stored with the source, replaces the one before, and is added to the heading of all its processes from now on. Positions that were computed before do not change.",
      body: NewCalibration,
      answers: { 200: { description: "The calibration.", schema: Calibration } },
      errors: ["source_not_found", "calibration_impossible"],
      async handle(call) {
        const { user, params, body } = call;
        const uuid = params.source_uuid;
        await findSource(sql, user.uuid, uuid);
        const process = processes.findOnSource(user, uuid);
        if (process === null) {
          const elsewhere = await findRunningOn(sql, user.uuid, uuid);
          const answer = elsewhere === null ? null : await forwarder?.toProcess(call, elsewhere);
          if (answer != null) return answer;
          throw impossible("no process with telemetry runs on this source; start one (POST /start) and try again");
        }
        const { offset, error } = await compare(process, body);
        const { length: landmarks } = body.landmarks;
        const row = await saveCalibration(sql, {
          ...{ sourceUuid: uuid, headingOffsetDeg: offset, headingErrorDeg: error, landmarks },
        });
        await calibrations.refresh();
        return ok(describe(row));
      },
    }),
    define("GET", PATH, "readCalibration", {
      summary: "Get the calibration of the heading of a source",
      answers: { 200: { description: "The calibration.", schema: Calibration } },
      errors: ["source_not_found", "calibration_not_found"],
      async handle({ user, params: { source_uuid: uuid } }) {
        await findSource(sql, user.uuid, uuid);
        const row = await findCalibration(sql, uuid);
        if (row === null) throw notFound();
        return ok(describe(row));
      },
    }),
    define("DELETE", PATH, "deleteCalibration", {
      summary: "Use the heading of a source as its telemetry reports it",
      answers: { 200: { description: "Deleted.", schema: Deleted } },
      errors: ["source_not_found", "calibration_not_found"],
      async handle({ user, params: { source_uuid: uuid } }) {
        await findSource(sql, user.uuid, uuid);
        if (!(await deleteCalibration(sql, uuid))) throw notFound();
        await calibrations.refresh();
        return deleted(uuid);
      },
    }),
  ];
}

const checkAnswer = checkBy(LandmarkAnswer);

/** Asks the runner, which has the telemetry of its frames and the terrain. Rejects with `calibration_impossible`. */
async function compare(process: Process, { landmarks }: NewCalibration) {
  const question: LandmarkQuestion = {
    landmarks: landmarks.map(({ timestamp, altitude, ...landmark }) => ({
      ...{ ...landmark, altitude: altitude ?? null },
      timeMs: timestamp === undefined ? null : Date.parse(timestamp),
    })),
  };
  const answer = await process.ask(LANDMARK_CHANNEL, question);
  if (answer === null)
    throw impossible("the graph of the process on this source has no element `geolocate`; start one that has it");
  if (checkAnswer(answer).length > 0) throw new Error("the runner gave an invalid answer about landmarks");
  const found = answer as LandmarkAnswer;
  if ("fault" in found) throw impossible(found.fault);
  return found;
}

const impossible = (detail: string): ServiceError => new ServiceError("calibration_impossible", { detail });

const notFound = (): ServiceError =>
  new ServiceError("calibration_not_found", {
    detail:
      "the heading of this source is used as it is reported; POST /source/{source_uuid}/calibration calibrates it",
  });

const round = (degrees: number): number => Math.round(degrees * 1000) / 1000;

const describe = (row: CalibrationRow): Calibration => ({
  source_uuid: row.sourceUuid,
  heading_offset_deg: round(row.headingOffsetDeg),
  heading_error_deg: round(row.headingErrorDeg),
  landmarks: row.landmarks,
  calibrated_at: row.calibratedAt.toISOString(),
});
