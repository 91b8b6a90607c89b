/**
 * Alerts: the service stores them and delivers their notifications, the element `alerts` evaluates them, the command line
 * replays them. The folders below `elements/alerts/` define the types; modules that may not import these receive the list
 * of types as an argument.
 */
import { type Static, type TSchema, Type } from "typebox";
import { TrackEntry } from "./detection-message.ts";
import type { JsonRecord } from "./json.ts";
import { Schedule } from "./schedule.ts";

/** The channel on which the element `alerts` sends `AlertEvent`s. */
export const ALERT_CHANNEL = "alerts";

/** The alert type that receives events of a rule of the graph; `parameters.rule` is the name of the rule. */
export const GRAPH_RULE = "graph-rule";

/** The parts of a configuration; a PATCH replaces a part as a whole. */
export const CONFIGURATION_FIELDS = ["trigger", "region", "filter", "parameters"] as const;

/** An alert without its destinations. Omitted parts have their defaults. */
export const AlertConfiguration = Type.Object({
  trigger: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  region: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  filter: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  parameters: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});
export type AlertConfiguration = Static<typeof AlertConfiguration>;

/** Limit per element `alerts`. */
export const MOST_RULES = 256;

/** An entry of `rules` of the element `alerts`. */
export const AlertRule = Type.Object(
  {
    /** The alert that findings belong to. Any name in a graph file. */
    alert: Type.String({ minLength: 1, maxLength: 100 }),
    type: Type.String({ minLength: 1, maxLength: 100 }),
    ...AlertConfiguration.properties,
    /** Evaluated only within its windows. */
    schedule: Type.Optional(Schedule),
    /** Events carry an image of their frame. */
    snapshot: Type.Optional(Type.Boolean()),
  },
  // A misspelt name would silently be ignored.
  { additionalProperties: false },
);
export type AlertRule = Static<typeof AlertRule>;

export const AlertEventName = Type.Union([Type.Literal("triggered"), Type.Literal("updated"), Type.Literal("cleared")]);
export type AlertEventName = Static<typeof AlertEventName>;

/** An event of the element; the receiver creates a notification from it. */
export const AlertEvent = Type.Object({
  /** As in the rule. */
  alert: AlertRule.properties.alert,
  type: AlertRule.properties.type,
  /** Time of the frame. */
  timeMs: Type.Integer({ minimum: 0, maximum: 8_640_000_000_000_000 }),
  event: AlertEventName,
  tracks: Type.Array(TrackEntry, { maxItems: 1000 }),
  /** Further values of this alert type. */
  data: Type.Record(Type.String(), Type.Unknown()),
  /** PTS of the frame: its position in the video, if the source is a file. */
  positionMs: Type.Optional(Type.Integer({ minimum: 0 })),
  /** JPEG of the frame, base64. */
  snapshot: Type.Optional(Type.String()),
});
export type AlertEvent = Static<typeof AlertEvent>;

export interface ConfigurationFault {
  /** JSON pointer into the configuration: `/region/polygon/2`. */
  readonly path: string;
  readonly message: string;
}

/** An alert type, without its evaluation. */
export interface AlertTypeDefinition {
  readonly name: string;
  /** Description in a few sentences. */
  readonly about: string;
  /** With defaults and descriptions; unknown names are rejected. */
  readonly schemas: { readonly [field in (typeof CONFIGURATION_FIELDS)[number]]: TSchema };
  /** A complete body for `POST /alert`. */
  readonly example: JsonRecord;
  /** Rules that schemas cannot express, such as a polygon that crosses itself. Runs after the schemas accepted. */
  check(configuration: AlertConfiguration): readonly ConfigurationFault[];
}
