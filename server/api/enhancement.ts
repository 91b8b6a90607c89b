/** Enhancement of the report of a finished process: what its pictures show, track by track. */
import { EnhancementStarted, EnhancementState } from "../../schemas/api/track-reports.ts";
import { withTimeout } from "../async/timing.ts";
import type { Enhancements } from "../enhancement/enhancements.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { type EnhancementRow, findEnhancement, findReport, type ReportView } from "../store/enhancements.ts";
import type { TrackLog } from "../tracks/track-log.ts";
import type { User } from "../user.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";

interface EnhancementEndpointNeeds {
  readonly sql: Sql;
  readonly enhancements: Pick<Enhancements, "start">;
  readonly tracks: Pick<TrackLog, "flush">;
}

/** What was told in the last moment of a process is worth so long a wait, but no failure. */
const FLUSH_MS = 2_000;

const tag = "Track reports";
const access = "key";

export function enhancementEndpoints({ sql, enhancements, tracks }: EnhancementEndpointNeeds): readonly AnyEndpoint[] {
  return [
    defineEndpoint({
      method: "POST",
      path: "/decorate_tracks/{process_uuid}",
      tag,
      id: "enhanceTracks",
      summary: "Starts the enhancement of the report of a finished process",
      description:
        "Every track gets `enhanced_data`: the type, colour and plate of vehicles, the colours that people wear, what can be said of things that fly; null where its picture does not show it. While one is under way, asking again changes nothing; after that it begins anew. Refused while as many processes and enhancements are under way as the key may have processes; it keeps no process from being started, and uses no minutes.",
      access,
      answers: { 200: { description: "It is under way.", schema: EnhancementStarted } },
      errors: [
        ...(["enhancement_not_enabled", "processes_limit_reached", "usage_limit_reached"] as const),
        ...(["process_not_found", "report_not_found", "wrong_state", "enhancement_failed"] as const),
      ],
      async handle({ user, params }) {
        if (!user.hasEnhancement)
          throw new ServiceError("enhancement_not_enabled", {
            detail: "this key has no enhancement; whoever runs the service can make one that has it",
          });
        const { uuid, state } = await expectReport(sql, user, params.process_uuid ?? "");
        if (state !== "finished" && state !== "failed")
          throw new ServiceError("wrong_state", {
            detail: `the process is ${state}; its report can be enhanced once it has finished`,
          });
        await withTimeout(FLUSH_MS, tracks.flush()).catch(() => {});
        await enhancements.start(user, uuid);
        return { status: 200, body: { process_uuid: uuid } };
      },
    }),
    ...(["GET", "POST"] as const).map((method) =>
      defineEndpoint({
        method,
        path: "/decorate_tracks/{process_uuid}/status",
        tag,
        id: method === "GET" ? "readEnhancement" : "askForEnhancement",
        summary: "How far the enhancement is",
        description: "FINISHED when every track is done; then `GET /process/{process_uuid}/tracks` shows it.",
        access,
        answers: { 200: { description: "Its state.", schema: EnhancementState } },
        errors: ["process_not_found", "report_not_found", "enhancement_not_found"],
        async handle({ user, params }) {
          const { uuid } = await expectReport(sql, user, params.process_uuid ?? "");
          const enhancement = await findEnhancement(sql, uuid);
          if (enhancement === null)
            throw new ServiceError("enhancement_not_found", {
              detail: `nobody has asked for it yet; POST /decorate_tracks/${uuid} does`,
            });
          return { status: 200, body: describeEnhancement(enhancement) };
        },
      }),
    ),
  ];
}

/** One of another user's is one that is not there. */
async function expectReport(sql: Sql, user: User, uuid: string): Promise<ReportView> {
  const report = await findReport(sql, user.uuid, uuid);
  if (report === null)
    throw new ServiceError("process_not_found", {
      detail: `there is no process ${uuid}; GET /tracked_processes lists those with a report`,
    });
  if (report.hasTrackLogger && !report.isDeleted) return report;
  throw new ServiceError("report_not_found", {
    detail: report.isDeleted
      ? `the report of the process ${uuid} was deleted`
      : `the key of the process ${uuid} had no track logger when it was started`,
  });
}

function describeEnhancement({ status, fault, done, total }: EnhancementRow) {
  const progress = status === "FINISHED" ? 1 : total === 0 ? 0 : Math.min(1, done / total);
  const counted = `${done} of ${Math.max(done, total)} tracks`;
  return { status, progress, detail: status === "FAILED" ? `${counted}; ${fault}` : counted };
}
