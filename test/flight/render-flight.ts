/** Writes a simulated flight to try out geolocation: a clip, its telemetry and the ground truth. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { FPS, LENS, writeMp4 } from "./render.ts";
import { simulateTelemetry, USUAL } from "./telemetry.ts";
import { describeTruth } from "./truth.ts";
import { FLIGHT } from "./world.ts";

const HELP = `node --import tsx test/flight/render-flight.ts --out DIR [options]

Renders a flight over fields and roads and writes flight.mp4, flight.ndjson (telemetry, one native message per line) and
truth.json (for every frame: the camera, and each car with its position and its box in pixels). Then:

  npx windhover run detect DIR/flight.mp4 --telemetry DIR/flight.ndjson --video DIR/found.mp4

  --out DIR            output folder; created if it does not exist
  --seconds N          length of the flight (${FLIGHT.seconds})
  --height N           metres above the ground (${FLIGHT.height})
  --speed N            metres per second (${FLIGHT.speed})
  --pan DEG            pan of the camera to each side (${FLIGHT.panDeg})
  --pan-seconds N      period of the pan (${FLIGHT.panSeconds})
  --width N, --fps N   of the clip, 16:9 (${LENS.width}, ${FPS})
  --hfov DEG           horizontal field of view (${LENS.hfov})
  --telemetry-hz N     messages per second (${USUAL.hz})
  --clock-ahead-ms N   offset of the drone's clock against the camera's clock (${USUAL.clockAheadMs})
  --noise N            factor of telemetry noise: 1 is usual, 0 none (${USUAL.noise})
  --help               this`;

/** Unix time of the first frame: arbitrary but fixed. */
const EPOCH_MS = Date.UTC(2026, 5, 1, 10);

const text = { type: "string" } as const;
const OPTIONS = {
  out: text,
  seconds: text,
  height: text,
  speed: text,
  pan: text,
  "pan-seconds": text,
  width: text,
  fps: text,
  hfov: text,
  "telemetry-hz": text,
  "clock-ahead-ms": text,
  noise: text,
  help: { type: "boolean" },
} as const;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS });
  const { out } = values;
  if (values.help === true) return console.log(HELP);
  if (out === undefined) throw new Error("--out is missing: expected the output folder; see --help");
  const read = (name: Exclude<keyof typeof OPTIONS, "help">, otherwise: number, least = 0): number => {
    const number = Number(values[name] ?? otherwise);
    if (Number.isFinite(number) && number >= least && values[name] !== "") return number;
    throw new Error(`--${name} is "${values[name]}"; expected a number of at least ${least}`);
  };
  const width = read("width", LENS.width, 64);
  const lens = {
    width: width - (width % 32),
    height: ((width - (width % 32)) * 9) / 16,
    hfov: read("hfov", LENS.hfov, 1),
  };
  if (lens.hfov >= 90)
    throw new Error(`--hfov is ${lens.hfov}; expected less than 90, so that the camera does not see the sky`);
  const fps = read("fps", FPS, 1);
  const flight = {
    seconds: read("seconds", FLIGHT.seconds, 1),
    height: read("height", FLIGHT.height, 1),
    speed: read("speed", FLIGHT.speed),
    panDeg: read("pan", FLIGHT.panDeg),
    panSeconds: read("pan-seconds", FLIGHT.panSeconds, 0.1),
  };
  const faults = {
    hz: read("telemetry-hz", USUAL.hz, 0.1),
    clockAheadMs: read("clock-ahead-ms", USUAL.clockAheadMs),
    noise: read("noise", USUAL.noise),
  };
  mkdirSync(out, { recursive: true });
  const samples = simulateTelemetry(flight, lens, faults, EPOCH_MS);
  writeFileSync(join(out, "flight.ndjson"), samples.map(({ message }) => `${JSON.stringify(message)}\n`).join(""));
  writeFileSync(join(out, "truth.json"), `${JSON.stringify(describeTruth(flight, lens, fps))}\n`);
  await writeMp4(join(out, "flight.mp4"), { flight, lens, fps });
  console.log(`flight.mp4, flight.ndjson and truth.json are in ${out}`);
}

await main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
