/** What a report covers. Pure. */
import type { ReportedProcess } from "../store/track-reports.ts";

export interface ReportWindow {
  /** Null: from the beginning on. */
  readonly since: Date | null;
  readonly windowMinutes: number;
}

interface WindowRule {
  readonly nowMs: number;
  readonly isActive: boolean;
  /** Of a process that runs. */
  readonly mostMinutes: number;
  /** It may be narrowed, never widened. */
  readonly asked: number | null;
}

const MINUTE_MS = 60_000;

type Times = Pick<ReportedProcess, "createdAt" | "startedAt" | "finishedAt">;

export function chooseWindow({ createdAt, startedAt, finishedAt }: Times, rule: WindowRule): ReportWindow {
  const { nowMs, isActive, mostMinutes, asked } = rule;
  if (isActive) {
    const windowMinutes = Math.min(asked ?? mostMinutes, mostMinutes);
    return { since: new Date(nowMs - windowMinutes * MINUTE_MS), windowMinutes };
  }
  const endMs = (finishedAt ?? createdAt).getTime();
  const lengthMinutes = Math.max(1, Math.ceil((endMs - (startedAt ?? createdAt).getTime()) / MINUTE_MS));
  if (asked === null || asked >= lengthMinutes) return { since: null, windowMinutes: lengthMinutes };
  return { since: new Date(endMs - asked * MINUTE_MS), windowMinutes: asked };
}
