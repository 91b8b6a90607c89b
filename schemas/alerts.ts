/**
 * Alerts, as everybody who has to do with them sees them: the service keeps them and delivers their notices, the element
 * `alerts` evaluates them, the command line replays them. What an alert of some type takes is told by its folder below
 * `elements/alerts/`; whoever may not import that is handed the list.
 */
import { type Static, type TSchema, Type } from "typebox";
import { TrackEntry } from "./detection-message.ts";
import type { JsonRecord } from "./json.ts";

/** On which the element `alerts` sends `AlertFinding`s. */
export const ALERT_CHANNEL = "alerts";

/** The parts of a configuration; a PATCH replaces whole ones of them. */
export const CONFIGURATION_FIELDS = ["trigger", "region", "filter", "parameters"] as const;

/** An alert without who is told of it. Parts that are left out take their defaults. */
export const AlertConfiguration = Type.Object({
  trigger: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  region: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  filter: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  parameters: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});
export type AlertConfiguration = Static<typeof AlertConfiguration>;

/** Of one element `alerts`. */
export const MOST_RULES = 256;

/** One of `rules` of the element `alerts`. */
export const AlertRule = Type.Object(
  {
    /** Whose findings these are. In graphs any name will do. */
    alert: Type.String({ minLength: 1, maxLength: 100 }),
    type: Type.String({ minLength: 1, maxLength: 100 }),
    ...AlertConfiguration.properties,
  },
  // A misspelt name would silently do nothing.
  { additionalProperties: false },
);
export type AlertRule = Static<typeof AlertRule>;

export const AlertEventName = Type.Union([Type.Literal("triggered"), Type.Literal("updated"), Type.Literal("cleared")]);
export type AlertEventName = Static<typeof AlertEventName>;

/** What the element says; whoever hears it makes a notice of it. */
export const AlertFinding = Type.Object({
  /** As the rule has it. */
  alert: AlertRule.properties.alert,
  type: AlertRule.properties.type,
  /** Of the picture. */
  timeMs: Type.Integer({ minimum: 0, maximum: 8_640_000_000_000_000 }),
  event: AlertEventName,
  tracks: Type.Array(TrackEntry, { maxItems: 1000 }),
  /** What the type has to say besides. */
  data: Type.Record(Type.String(), Type.Unknown()),
});
export type AlertFinding = Static<typeof AlertFinding>;

export interface ConfigurationFault {
  /** JSON pointer into the configuration: `/region/polygon/2`. */
  readonly path: string;
  readonly message: string;
}

/** A type of alert, without how it is evaluated. */
export interface AlertTypeDefinition {
  readonly name: string;
  /** What it does, in a few sentences. */
  readonly about: string;
  /** Each with its defaults and descriptions; unknown names are refused. */
  readonly schemas: { readonly [field in (typeof CONFIGURATION_FIELDS)[number]]: TSchema };
  /** Posts as it is: the whole body of `POST /alert`. */
  readonly example: JsonRecord;
  /** What the schemas cannot say, such as a polygon that crosses itself. Only for what the schemas took. */
  check(configuration: AlertConfiguration): readonly ConfigurationFault[];
}
