import { type Compiled, type CompileInput, compile, compileLaunch } from "./compile.ts";
import { elements } from "./elements.fixture.ts";
import { formatFault } from "./fault.ts";
import { registry } from "./registry.fixture.ts";

/** A small world to compile in. */
export const world = { elements, registry } satisfies CompileInput;

export function compileText(text: string, input: Partial<CompileInput> = {}): Compiled {
  return compile({ file: "a.yaml", text }, { ...world, source: { uri: "test:ball" }, ...input });
}

export function compileLine(line: string, input: Partial<CompileInput> = {}): Compiled {
  return compileLaunch(line, { ...world, ...input });
}

export const messagesOf = ({ faults }: Pick<Compiled, "faults">): readonly string[] => faults.map(formatFault);

/** The shape of architecture.md's example. */
export const DETECT = `graph: detect
about: Detect, track and geolocate objects on one source.
params:
  model:      { type: string, default: default }
  confidence: { type: number, minimum: 0, maximum: 1, default: 0.4, live: true }
chains:
  main:
    - source
    - decode
    - stage
    - detect:    { model: $model, confidence: $confidence }
    - track
    - geolocate
    - alerts
    - report
    - tee:       { name: frames }
  data:
    - from: frames
    - detections
slots:
  feed:
    chain:
      - from: frames
      - stage
      - overlay
      - jpegenc: { quality: 80 }
      - feed
  rtsp:
    params: { path: { type: string }, resolution: { enum: [360p, 720p, 1080p, null], default: null } }
    chain:
      - from: frames
      - stage
      - overlay
      - resize:  { to: $resolution }
      - encode:  { codec: h264, keyframe-seconds: 1 }
      - publish: { url: $path }
`;
