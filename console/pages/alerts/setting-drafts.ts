/** Schedule and evidence of an alert as they are edited, until they are sent. Pure. */
import type { Evidence, Schedule } from "../../../client/client.ts";

export const DAYS = [
  ["mon", "Mon", "Monday"],
  ["tue", "Tue", "Tuesday"],
  ["wed", "Wed", "Wednesday"],
  ["thu", "Thu", "Thursday"],
  ["fri", "Fri", "Friday"],
  ["sat", "Sat", "Saturday"],
  ["sun", "Sun", "Sunday"],
] as const;
export type Day = (typeof DAYS)[number][0];

/** The end of a day is the beginning of the next one in a field for times, which has no 24:00. */
const END_OF_DAY = "24:00";
export const MIDNIGHT = "00:00";

/** A window as it is edited: with all its days, and times as a field has them. */
export interface WindowDraft {
  readonly id: number;
  readonly days: readonly Day[];
  readonly from: string;
  readonly to: string;
}

export interface ScheduleDraft {
  readonly timeZone: string;
  /** Empty: always. */
  readonly windows: readonly WindowDraft[];
}

const ALL_DAYS = DAYS.map(([day]) => day);
let last = 0;
export const newWindow = (days: readonly Day[] = ALL_DAYS, from = "22:00", to = "06:00"): WindowDraft => ({
  ...{ id: ++last, days, from, to: to === END_OF_DAY ? MIDNIGHT : to },
});

const localZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

export const toScheduleDraft = (schedule: Schedule | null): ScheduleDraft => ({
  timeZone: schedule?.time_zone ?? localZone(),
  windows: schedule?.windows.map(({ days, from, to }) => newWindow(days, from, to)) ?? [],
});

export function toSchedule({ timeZone, windows }: ScheduleDraft): Schedule | null {
  if (windows.length === 0) return null;
  return {
    time_zone: timeZone.trim(),
    windows: windows.map(({ days, from, to }) => ({
      ...(days.length < ALL_DAYS.length && { days: ALL_DAYS.filter((day) => days.includes(day)) }),
      ...{ from, to: to === MIDNIGHT ? END_OF_DAY : to },
    })),
  };
}

/** As it is edited: the seconds stay while no clip is kept. */
export interface EvidenceDraft {
  readonly hasSnapshot: boolean;
  readonly hasClip: boolean;
  readonly before: string;
  readonly after: string;
  readonly hasBoxes: boolean;
}

export const toEvidenceDraft = (evidence: Evidence | null): EvidenceDraft => ({
  hasSnapshot: evidence?.snapshot === true,
  hasClip: evidence?.clip !== undefined,
  before: String(evidence?.clip?.before_seconds ?? 10),
  after: String(evidence?.clip?.after_seconds ?? 5),
  hasBoxes: evidence?.clip?.boxes === true,
});

/** Null: nothing is kept. */
export function toEvidence({ hasSnapshot, hasClip, before, after, hasBoxes }: EvidenceDraft): Evidence | null {
  const clip = { before_seconds: Number(before), after_seconds: Number(after), boxes: hasBoxes };
  return hasSnapshot || hasClip ? { ...(hasClip && { clip }), snapshot: hasSnapshot } : null;
}
