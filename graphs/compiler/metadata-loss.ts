/**
 * Which elements of GStreamer put out frames without the metadata of those they were given. Filters, converters, encoders,
 * decoders, payloaders, queues and selectors hand it on: their base classes copy it, or the frame stays the same one.
 * Measured with every element that takes raw video. What mixes frames drops it, and rightly: a box of one input is in
 * another place of the mixed picture.
 */
import type { FactoryInfo } from "../../schemas/registry.ts";

const BASES = new Set(["GstAggregator", "GstRawBaseParse"]);
const KLASS = /\b(Compositor|Muxer|Demuxer)\b/;
/** Without a base class or a klass that would say so. */
const NAMES = new Set(["interlace", "smpte", "videoparse"]);

export const losesMetadata = ({ name, klass, bases }: Pick<FactoryInfo, "name" | "klass" | "bases">): boolean =>
  NAMES.has(name) || KLASS.test(klass) || bases.some((base) => BASES.has(base));
