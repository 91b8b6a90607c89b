/** When an alert is evaluated: windows of the week, by the wall clock of a time zone. Pure: the time is that of the frame. */
import { type Static, Type } from "typebox";
import { didYouMean } from "./suggest.ts";

const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
const MOST_WINDOWS = 32;

const time = (pattern: string, description: string) => Type.String({ maxLength: 5, pattern, description });

const Window = Type.Object(
  {
    days: Type.Optional(
      Type.Array(Type.Enum([...DAYS]), {
        minItems: 1,
        maxItems: DAYS.length,
        description: "Days on which the window begins. Default: every day.",
      }),
    ),
    from: time("^(?:[01]\\d|2[0-3]):[0-5]\\d$", "Beginning, from `00:00` to `23:59`."),
    to: time(
      "^(?:(?:[01]\\d|2[0-3]):[0-5]\\d|24:00)$",
      "End, from `00:00` to `24:00`; not part of the window. If it is before `from`, the window ends on the next day.",
    ),
  },
  { additionalProperties: false },
);

export const Schedule = Type.Object(
  {
    time_zone: Type.String({
      minLength: 1,
      maxLength: 64,
      description: "Name of the IANA time zone, such as `Europe/Berlin` or `UTC`.",
    }),
    windows: Type.Array(Window, { minItems: 1, maxItems: MOST_WINDOWS }),
  },
  {
    title: "Schedule",
    additionalProperties: false,
    description:
      "The alert is evaluated only within these windows, by the capture time of the frames and the wall clock of the time zone.",
  },
);
export type Schedule = Static<typeof Schedule>;

export interface ScheduleFault {
  /** JSON pointer into the schedule. */
  readonly path: string;
  readonly message: string;
}

/** What the schema cannot express. */
export function checkSchedule({ time_zone, windows }: Schedule): readonly ScheduleFault[] {
  const empty = windows.flatMap(({ from, to }, index) =>
    from === to
      ? [{ path: `/windows/${index}/to`, message: 'is the same as from; for a whole day use "00:00" to "24:00"' }]
      : [],
  );
  if (isZone(time_zone)) return empty;
  const message = `"${time_zone}" is not an IANA time zone such as Europe/Berlin or UTC${suggestZone(time_zone)}`;
  return [{ path: "/time_zone", message }, ...empty];
}

/** Not an offset such as `+02:00`, which only newer versions of Node know, and which has no daylight saving. */
function isZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** `Berlin` means `Europe/Berlin`. */
function suggestZone(name: string): string {
  const zones = Intl.supportedValuesOf("timeZone");
  const city = `/${name.replaceAll(" ", "_").toLowerCase()}`;
  const found = zones.find((zone) => zone.toLowerCase().endsWith(city));
  return found === undefined ? didYouMean(name, zones) : `; did you mean "${found}"?`;
}

const MINUTE_MS = 60_000;
const MINUTES_PER_DAY = 1440;

interface OpenWindow {
  readonly days: ReadonlySet<number>;
  readonly from: number;
  readonly to: number;
}

/** A valid schedule, ready for one question per frame. */
export class Opening {
  readonly #format: Intl.DateTimeFormat;
  readonly #windows: readonly OpenWindow[];
  /** The answer for one minute: many frames have the same. */
  #minute = Number.NaN;
  #isOpen = false;

  /** Throws for an unknown time zone. */
  constructor({ time_zone, windows }: Schedule) {
    const style = { weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
    this.#format = new Intl.DateTimeFormat("en-US", { timeZone: time_zone, ...style });
    this.#windows = windows.map(({ days = DAYS, from, to }) => ({
      days: new Set(days.map((day) => DAYS.indexOf(day))),
      from: readTime(from),
      to: readTime(to),
    }));
  }

  /**
   * By the wall clock at this Unix time. Of a window in an hour that the clock skips only the rest is open; in an hour
   * that it repeats, a window is open both times.
   */
  isOpen(timeMs: number): boolean {
    const minute = Math.floor(timeMs / MINUTE_MS);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#isOpen = this.#ask(minute * MINUTE_MS);
    }
    return this.#isOpen;
  }

  #ask(timeMs: number): boolean {
    const parts = new Map(this.#format.formatToParts(timeMs).map(({ type, value }) => [type, value]));
    const day = DAYS.indexOf((parts.get("weekday") ?? "").toLowerCase() as (typeof DAYS)[number]);
    const now = Number(parts.get("hour")) * 60 + Number(parts.get("minute"));
    const dayBefore = (day + DAYS.length - 1) % DAYS.length;
    return this.#windows.some(({ days, from, to }) =>
      from < to
        ? days.has(day) && now >= from && now < to
        : (days.has(day) && now >= from) || (days.has(dayBefore) && now < to),
    );
  }
}

const readTime = (text: string): number => {
  const [hours = 0, minutes = 0] = text.split(":").map(Number);
  return Math.min(hours * 60 + minutes, MINUTES_PER_DAY);
};
