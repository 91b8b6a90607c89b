/**
 * GStreamer's registry as plain data. The compiler validates graphs against it without loading GStreamer;
 * `native/gstreamer.ts` creates it.
 */
import type { Json } from "./json.ts";

export type PropertyKind =
  | "boolean"
  | "integer"
  | "number"
  | "string"
  | "enum"
  | "flags"
  | "fraction"
  | "caps"
  | "structure"
  /** Object, pointer or boxed types that cannot be written as text: never settable from a graph. */
  | "opaque";

export interface PropertyInfo {
  readonly kind: PropertyKind;
  /** GLib's name of the type, for display: `gint`, `GstVideoTestSrcPattern`. */
  readonly gtype: string;
  readonly about: string;
  readonly default: Json;
  readonly writable: boolean;
  readonly readable: boolean;
  /** Mutable while PLAYING: GST_PARAM_MUTABLE_PLAYING, or GST_PARAM_CONTROLLABLE without a restriction to lower states. */
  readonly live: boolean;
  readonly deprecated: boolean;
  /** Inclusive, for `integer` and `number`. 64-bit limits are rounded to doubles. */
  readonly minimum?: number;
  readonly maximum?: number;
  /** For `enum` and `flags`. */
  readonly values?: readonly { readonly nick: string; readonly value: number; readonly about: string }[];
}

export interface PadInfo {
  /** Template name: `sink`, `src`, `src_%u`. */
  readonly name: string;
  readonly direction: "sink" | "src";
  readonly presence: "always" | "sometimes" | "request";
  /** Caps in GStreamer's notation; `ANY` accepts everything. */
  readonly caps: string;
  /** For pads with their own type, such as the inputs of `compositor`. Absent if GStreamer does not state it. */
  readonly properties?: Readonly<Record<string, PropertyInfo>>;
}

export interface FactoryInfo {
  readonly name: string;
  readonly longName: string;
  readonly about: string;
  /** `Codec/Decoder/Video/Hardware` and the like. */
  readonly klass: string;
  readonly plugin: string;
  readonly rank: number;
  readonly pads: readonly PadInfo[];
  /** For a source: it is live unless its property `is-live` is false. False for all other elements. */
  readonly liveSource: boolean;
  readonly properties: Readonly<Record<string, PropertyInfo>>;
  /** GLib types between its own and GstElement, nearest first: `GstVideoAggregator`, `GstAggregator`. */
  readonly bases: readonly string[];
}

/** A factory without the data of its class: listing all factories is cheap, describing one loads its plugin. */
export type FactorySummary = Pick<FactoryInfo, "name" | "longName" | "about" | "klass" | "plugin" | "rank">;

export interface Registry {
  list(): readonly FactorySummary[];
  get(name: string): FactoryInfo | undefined;
}
