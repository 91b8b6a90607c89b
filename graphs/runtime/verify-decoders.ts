/**
 * Hardware decoders are used only where they work: each decodes a short test clip before the first graph that prefers it,
 * and its frames must be those of the software decoder. Once per process.
 */
import { type NativeSegment, Pipeline } from "../../native/pipeline.ts";
import type { Registry } from "../../schemas/registry.ts";
import { withTimeout } from "./limits.ts";

type Step = readonly [factory: string, properties?: Readonly<Record<string, string | number | boolean>>];

interface TestCodec {
  readonly mediaType: string;
  readonly encode: readonly Step[];
  /** The standard defines every bit of its frames, so that the other decoder must have the same. */
  readonly software: string;
}

const CODECS: readonly TestCodec[] = [
  {
    mediaType: "video/x-h264",
    encode: [["x264enc", { "speed-preset": "veryfast", "key-int-max": 5 }], ["h264parse"]],
    software: "avdec_h264",
  },
  {
    mediaType: "video/x-h265",
    encode: [["x265enc", { "speed-preset": "ultrafast", "option-string": "log-level=none" }], ["h265parse"]],
    software: "avdec_h265",
  },
  // Without a negative value, the encoder works less precisely whenever the machine is busy: each clip would differ.
  { mediaType: "video/x-vp8", encode: [["vp8enc", { deadline: 1, "cpu-used": -4 }]], software: "vp8dec" },
  { mediaType: "video/x-vp9", encode: [["vp9enc", { deadline: 1 }]], software: "vp9dec" },
];

const FRAMES = 8;
/** One that is predicted from others. */
const COMPARED_NS = 280_000_000n;
const LIMIT_MS = 15_000;

const tested = new Map<string, Promise<string | null>>();

/** Those that decode correctly, in the same order; `reject` gets the reason for each other one, once per process. */
export async function findUsable(
  decoders: readonly string[],
  registry: Registry,
  reject: (decoder: string, reason: string) => void,
): Promise<readonly string[]> {
  const usable: string[] = [];
  for (const decoder of decoders) {
    const isNew = !tested.has(decoder);
    const testing = tested.get(decoder) ?? testDecoder(decoder, registry);
    tested.set(decoder, testing);
    const reason = await testing;
    if (reason === null) usable.push(decoder);
    else if (isNew) reject(decoder, reason);
  }
  return usable;
}

/** Null: it decodes the test clip like the software decoder. Otherwise why it is not used. */
export async function testDecoder(decoder: string, registry: Registry): Promise<string | null> {
  const inputs = registry.get(decoder)?.pads.filter(({ direction }) => direction === "sink") ?? [];
  const codec = CODECS.find(({ mediaType }) => inputs.some(({ caps }) => caps.includes(mediaType)));
  if (codec === undefined) return `no test clip for its formats; there is one for ${listTypes()}`;
  const missing = [...codec.encode.map(([factory]) => factory), codec.software].filter((name) => !registry.get(name));
  if (missing.length > 0) return `the test clip needs ${missing.join(", ")}`;
  try {
    const [expected, found] = [await decodeClip(codec, codec.software), await decodeClip(codec, decoder)];
    if (found.frames !== expected.frames)
      return `it decoded ${found.frames} of ${expected.frames} frames of a test clip`;
    return expected.image.equals(found.image)
      ? null
      : "frames of a test clip differ from those of the software decoder";
  } catch (error) {
    return (error as Error).message;
  }
}

const listTypes = (): string => CODECS.map(({ mediaType }) => mediaType).join(", ");

interface DecodedClip {
  readonly frames: number;
  readonly image: Buffer;
}

async function decodeClip({ encode }: TestCodec, decoder: string): Promise<DecodedClip> {
  const pipeline = new Pipeline({ name: "test-clip", epochNs: 0n });
  try {
    await pipeline.build(
      chain([
        ["videotestsrc", { "num-buffers": FRAMES, pattern: "ball" }],
        ["capsfilter", { caps: "video/x-raw,format=I420,width=320,height=240,framerate=25/1" }],
        ...encode,
        [decoder],
        ["videoconvert"],
        ["capsfilter", { caps: "video/x-raw,format=I420" }],
        ["fakesink", { sync: false }],
      ]),
    );
    let frames = 0;
    const last = nameOf(encode.length + 4);
    pipeline.tap(last, ({ lost }) => {
      frames += 1 + lost;
    });
    const image = pipeline.grab(last, COMPARED_NS, "image/png");
    image.catch(() => {}); // rejected when the pipeline is closed
    await pipeline.setState("PLAYING", LIMIT_MS);
    await withTimeout(LIMIT_MS, "it did not decode a test clip", untilEnd(pipeline));
    const { image: bytes } = await withTimeout(LIMIT_MS, "it did not decode a test clip", image);
    return { frames, image: Buffer.from(bytes) };
  } finally {
    await pipeline.close(LIMIT_MS);
  }
}

const nameOf = (index: number): string => `step-${index}`;

const chain = (steps: readonly Step[]): NativeSegment => ({
  nodes: steps.map(([factory, properties = {}], index) => ({ name: nameOf(index), factory, properties })),
  links: steps.slice(1).map((_, index) => ({ from: nameOf(index), to: nameOf(index + 1) })),
});

async function untilEnd(pipeline: Pipeline): Promise<void> {
  for await (const message of pipeline.messages()) {
    if (message.type === "eos") return;
    if (message.type === "error") throw new Error(message.message);
  }
}
