/**
 * What GStreamer's registry knows, as plain data. The compiler checks graphs against it without loading GStreamer;
 * `native/gstreamer.ts` is what produces it.
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
  /** GLib's own name of the type, for people: `gint`, `GstVideoTestSrcPattern`. */
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
  /** Caps in GStreamer's own notation; `ANY` takes everything. */
  readonly caps: string;
  /** Of pads with a type of their own, such as the inputs of `compositor`. Absent: GStreamer does not say. */
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
  /** Of a source: it is live unless its property `is-live` says otherwise. False for everything else. */
  readonly liveSource: boolean;
  readonly properties: Readonly<Record<string, PropertyInfo>>;
  /** GLib types between its own and GstElement, nearest first: `GstVideoAggregator`, `GstAggregator`. */
  readonly bases: readonly string[];
}

/** A factory without what its class says: listing all of them is cheap, describing one loads its plugin. */
export type FactorySummary = Omit<FactoryInfo, "properties" | "bases" | "liveSource">;

export interface Registry {
  list(): readonly FactorySummary[];
  get(name: string): FactoryInfo | undefined;
}
