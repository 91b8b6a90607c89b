/** Chooses an encoder and its properties by the installed plugins. */
import type { JsonRecord } from "../../schemas/json.ts";
import type { FactoryInfo, PropertyInfo, Registry } from "../../schemas/registry.ts";

type Codec = "h264" | "h265";

interface EncoderSettings {
  readonly bitrateKbps: number;
  readonly preset: string;
  /** Maximum keyframe interval in frames. */
  readonly keyframeFrames: number;
}

interface ChosenEncoder {
  readonly factory: string;
  readonly properties: JsonRecord;
}

/** Keyframes that nothing precedes, as Apple's players require; and not a thread for every core, as is its default. */
const X265_OPTIONS = "open-gop=0:pools=2:log-level=error";

const SOFTWARE: Readonly<Record<Codec, (settings: EncoderSettings) => ChosenEncoder>> = {
  h264: ({ bitrateKbps, preset, keyframeFrames }) => ({
    factory: "x264enc",
    properties: {
      tune: "zerolatency",
      "speed-preset": preset,
      bframes: 0,
      "byte-stream": true,
      bitrate: bitrateKbps,
      "key-int-max": keyframeFrames,
    },
  }),
  h265: ({ bitrateKbps, preset, keyframeFrames }) => ({
    factory: "x265enc",
    properties: {
      tune: "zerolatency",
      "speed-preset": preset,
      bitrate: bitrateKbps,
      "key-int-max": keyframeFrames,
      "option-string": X265_OPTIONS,
    },
  }),
};

/** Properties for a low-latency, constant-rate stream, by family of hardware encoders. */
const HARDWARE: readonly { family: RegExp; properties(settings: EncoderSettings): JsonRecord }[] = [
  {
    family: /^va\w*enc$/,
    properties: ({ bitrateKbps, keyframeFrames }) => ({
      "rate-control": "cbr",
      bitrate: bitrateKbps,
      "b-frames": 0,
      "key-int-max": Math.min(keyframeFrames, 1024),
    }),
  },
  {
    family: /^nv\w*enc$/,
    properties: ({ bitrateKbps, keyframeFrames }) => ({
      "rc-mode": "cbr",
      bitrate: bitrateKbps,
      zerolatency: true,
      "gop-size": keyframeFrames,
    }),
  },
  {
    family: /^v4l2h26[45]enc$/,
    properties: ({ bitrateKbps }) => ({ "extra-controls": `controls,video_bitrate=${bitrateKbps * 1000}` }),
  },
];

/** The highest-ranked hardware encoder that supports all needed properties. */
export function chooseHardwareEncoder(
  codec: Codec,
  settings: EncoderSettings,
  registry: Registry,
): ChosenEncoder | null {
  const candidates = hardwareEncoders.get(registry) ?? listHardwareEncoders(registry);
  hardwareEncoders.set(registry, candidates);
  for (const { name } of candidates) {
    const properties = HARDWARE.find(({ family }) => family.test(name))?.properties(settings);
    const factory = registry.get(name);
    const encodes = factory?.pads.some(
      ({ direction, caps }) => direction === "src" && caps.includes(`video/x-${codec}`),
    );
    if (properties && factory && encodes && supports(factory, properties)) return { factory: name, properties };
  }
  return null;
}

/** A registry has more than a thousand elements, and every slot that encodes asks. */
const hardwareEncoders = new WeakMap<Registry, ReturnType<Registry["list"]>>();

const listHardwareEncoders = (registry: Registry): ReturnType<Registry["list"]> =>
  registry
    .list()
    .filter(({ klass }) => ["Encoder", "Video", "Hardware"].every((part) => klass.split("/").includes(part)))
    .sort((a, b) => b.rank - a.rank || a.name.localeCompare(b.name));

/** The software encoder, or null if its plugin is not installed. */
export function chooseSoftwareEncoder(
  codec: Codec,
  settings: EncoderSettings,
  registry: Registry,
): ChosenEncoder | null {
  const chosen = SOFTWARE[codec](settings);
  return registry.get(chosen.factory) === undefined ? null : chosen;
}

function supports(factory: FactoryInfo, properties: JsonRecord): boolean {
  return Object.entries(properties).every(([name, value]) => {
    const property = factory.properties[name];
    return property?.writable === true && accepts(property, value);
  });
}

function accepts({ kind, minimum, maximum, values }: PropertyInfo, value: JsonRecord[string]): boolean {
  switch (typeof value) {
    case "boolean":
      return kind === "boolean";
    case "number":
      return kind === "integer" && value >= (minimum ?? value) && value <= (maximum ?? value);
    case "string":
      return kind === "structure" || (kind === "enum" && values?.some(({ nick }) => nick === value) === true);
    default:
      return false;
  }
}
