/**
 * Every recipe on long clips: the whole of `vtest.avi`, and streets with many cars. `test/recipes.test.ts` runs them on few
 * frames.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { start } from "../../cli/windhover.fixture.ts";
import type { OutputRecord } from "../../schemas/api/outputs.ts";
import type { StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { MASTER_KEY, TestService, uploadVideo } from "../api/service.fixture.ts";
import { MISSING_CLIP, testClip } from "../clips.fixture.ts";
import { runLine } from "../docs/command-lines.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { paintFrame, paintStreet } from "../golden/street.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import {
  CONVOY,
  detailOf,
  needsVtest,
  openPicture,
  paintCarPark,
  paintConvoy,
  probeVideo,
  RECIPE_NAMES,
  type RecipeRun,
  runRecipe,
  secondsOf,
  writeClips,
  writeTelemetry,
} from "../recipes.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { rounds } from "./rounds.fixture.ts";

/** Of `vtest.avi`, at 10 fps, and of streets, at 25 fps. */
const FRAMES = rounds(30, 795);
const STREET_FRAMES = rounds(100, 400);
/** Runs of cars through the street. */
const LAPS = STREET_FRAMES / 100;
/** Inference on every third frame: the clips are long. */
const EVERY = 3;
const INFERRED = Math.ceil(FRAMES / EVERY);

const folder = temporaryFolder();
const at = (name: string): string => join(folder, name);
const vtest = testClip("vtest.avi");
const noModel = await withoutModel("default");
const noClip = noModel || (vtest === null && MISSING_CLIP);
if (!noModel) {
  await writeClips(folder, rounds(15, 200));
  paintStreet(at("streets.y4m"), STREET_FRAMES, (still, frame) => paintFrame(still, frame % 100));
  writeTelemetry(at("streets.ndjson"), STREET_FRAMES);
  paintStreet(at("car-parks.y4m"), STREET_FRAMES, paintCarPark);
  paintStreet(at("convoys.y4m"), STREET_FRAMES, (still, frame) => paintConvoy(still, frame, 0));
  writeTelemetry(at("convoys.ndjson"), STREET_FRAMES, CONVOY.speed);
}

/** A run on `vtest.avi`, whose messages are complete and in order. */
async function watch(words: string): Promise<RecipeRun> {
  const run = await runRecipe(`${words} every=${EVERY} --frames ${FRAMES}`);
  assert.equal(run.messages.length, INFERRED);
  checkMessages(run);
  return run;
}

function checkMessages({ messages }: RecipeRun): void {
  for (const [i, message] of messages.entries()) {
    const before = messages[i - 1];
    if (before !== undefined) assert.ok(secondsOf(before) < secondsOf(message), `message ${i} is not later`);
    const ids = message.active_tracks.map(({ track_id }) => track_id);
    assert.equal(new Set(ids).size, ids.length, `a track is twice in message ${i}`);
  }
}

const eventsOf = ({ events }: RecipeRun, name: string) => events.filter(({ alert }) => alert === name);
/** Two people may cross in one frame, which is one event. */
const countCrossings = (events: RecipeRun["events"]): number =>
  new Set(
    events
      .flatMap(({ data }) => data.crossings as { readonly track_id: number; readonly timestamp: string }[])
      .map(({ track_id, timestamp }) => `${track_id} ${timestamp}`),
  ).size;
const personsOf = ({ messages }: RecipeRun): number =>
  messages.flatMap((one) => one.active_tracks).filter((one) => one.class_name === "person").length;

/** One full run of each recipe; returns what is printed. */
const FULL: Readonly<Record<string, () => Promise<string>>> = {
  async "gate-counting"() {
    const run = await watch(`gate-counting ${vtest} line=[[0.35,0.2],[0.75,0.95]]`);
    const [into, out] = [eventsOf(run, "in"), eventsOf(run, "out")];
    const [ins, outs] = [countCrossings(into), countCrossings(out)];
    assert.equal(into.at(-1)?.data.forward_total ?? 0, ins);
    assert.equal(out.at(-1)?.data.backward_total ?? 0, outs);
    assert.ok(ins + outs >= rounds(0, 15));
    return `${ins} in, ${outs} out`;
  },
  async "crowd-density"() {
    const run = await watch(`crowd-density ${vtest} together=3`);
    let isCrowded = false;
    for (const { event } of eventsOf(run, "crowd")) {
      assert.equal(event === "triggered", !isCrowded, "a crowd is cleared before the next one");
      isCrowded = event !== "cleared";
    }
    const most = Math.max(...run.messages.map(({ counts }) => counts?.people?.total ?? 0));
    assert.ok(most >= 4 && most <= 14, `${most} people`);
    return `${run.events.length} events, up to ${most} people`;
  },
  async "privacy-blur"() {
    const seconds = rounds(2, 78);
    const moments = [1, 2, 3].map((part) => Math.floor((seconds * part) / 3));
    const names = moments.flatMap((second) => ["decode", "report"].map((node) => `${node}@${second}s`));
    const words = names.map((name) => `--snapshot ${name}=${at(`${name}.jpg`)}`).join(" ");
    const run = await watch(`privacy-blur ${vtest} ${words}`);
    let hidden = 0;
    for (const second of moments) {
      const [before, after] = [openPicture(at(`decode@${second}s.jpg`)), openPicture(at(`report@${second}s.jpg`))];
      const message = run.messages.find((one) => Math.abs(secondsOf(one) - second) < 0.05);
      for (const { bbox, confidence, class_name } of message?.active_tracks ?? []) {
        if (class_name !== "person" || confidence < 50) continue;
        assert.ok(detailOf(after, bbox) < detailOf(before, bbox) / 2, `${bbox} at ${second} s`);
        hidden += 1;
      }
    }
    return `${hidden} people hidden in ${moments.length} pictures`;
  },
  async "parking-occupancy"() {
    const run = await runRecipe(`parking-occupancy ${at("car-parks.y4m")} seconds=1 every=2`);
    checkMessages(run);
    const later = run.messages.filter((one) => secondsOf(one) > 1.2);
    assert.deepEqual([...new Set(later.map(({ values }) => values?.free))], [1]);
    return `one bay stays free in ${later.length} messages`;
  },
  async "vehicle-speed"() {
    const run = await runRecipe(`vehicle-speed ${at("streets.y4m")} --telemetry ${at("streets.ndjson")} every=2`);
    checkMessages(run);
    const speeds = new Map<number, number>();
    for (const { active_tracks } of run.messages)
      for (const { track_id, scaled_bbox, values } of active_tracks) {
        const [left, , width] = scaled_bbox;
        if (left > 0.01 && left + width < 0.99 && values?.speed_kmh != null)
          speeds.set(track_id, Number(values.speed_kmh));
      }
    assert.equal(speeds.size, 2 * LAPS);
    for (const kmh of speeds.values()) assert.ok(Math.abs(kmh - 19.7) < 2.5, `${kmh} km/h`);
    return `${speeds.size} cars, ${[...speeds.values()].join(", ")} km/h`;
  },
  async perimeter() {
    const fence = "[[11.57552,48.137295],[11.5757,48.137295],[11.5757,48.1374],[11.57552,48.1374]]";
    const run = await runRecipe(
      `perimeter ${at("streets.y4m")} --telemetry ${at("streets.ndjson")} every=2 seconds=0.2 fence=${fence}`,
    );
    checkMessages(run);
    assert.equal(eventsOf(run, "entered").length, LAPS);
    return `${LAPS} cars entered`;
  },
  async convoy() {
    const run = await runRecipe(
      `convoy ${at("convoys.y4m")} --telemetry ${at("convoys.ndjson")} every=${EVERY} seconds=0.5 max_gap_m=7 interval_seconds=2`,
    );
    checkMessages(run);
    const [formed, ...reports] = eventsOf(run, "convoy");
    assert.equal(formed?.event, "triggered");
    for (const { event, data } of reports) assert.deepEqual([event, data.members], ["updated", formed.data.members]);
    assert.ok(reports.length >= rounds(0, 5));
    return `one convoy, ${reports.length} reports, lengths ${reports.map(({ data }) => data.length_m).join(", ")} m`;
  },
  async "search-and-rescue"() {
    const run = await runRecipe(
      `search-and-rescue ${at("from-above.y4m")} --telemetry ${at("streets.ndjson")} --frames ${rounds(13, 90)} model=default tiles={"columns":3,"rows":2} every=${EVERY}`,
    );
    checkMessages(run);
    const found = eventsOf(run, "found");
    assert.ok(found.length >= rounds(2, 3) && found.length <= 15, `${found.length} people`);
    for (const { data, tracks } of found) assert.ok(data.patch !== null && Number.isFinite(tracks[0]?.latitude));
    return `${found.length} people found`;
  },
  async "night-mode"() {
    const frames = rounds(15, 200);
    const words = `--frames ${frames} every=${EVERY} classes=person`;
    const [day, dark, night] = [
      await runRecipe(`detect ${vtest} ${words}`),
      await runRecipe(`detect ${at("dark.y4m")} ${words}`),
      await runRecipe(`night-mode ${at("dark.y4m")} ${words}`),
    ].map(personsOf) as [number, number, number];
    assert.ok(dark < day / 4, `${dark} of ${day} people without the recipe`);
    assert.ok(night > day * 0.7, `${night} of ${day} people`);
    return `${day} people by day; at night ${dark}, with the recipe ${night}`;
  },
  async timelapse() {
    await watch(`timelapse ${vtest} speed=10 --video ${at("short.mp4")}`);
    const { frames } = await probeVideo(at("short.mp4"));
    const expected = ((FRAMES / 10) * 25) / 10;
    assert.ok(Math.abs(frames - expected) <= 2, `${frames} frames instead of ${expected}`);
    return `${FRAMES} frames in ${frames}`;
  },
  async "two-resolutions"() {
    await watch(`two-resolutions ${vtest} large=${at("large.mp4")} small=${at("small.mp4")}`);
    assert.deepEqual(await probeVideo(at("large.mp4")), { frames: FRAMES, width: 768, height: 576 });
    assert.deepEqual(await probeVideo(at("small.mp4")), { frames: FRAMES, width: 480, height: 360 });
    return `${FRAMES} frames in both`;
  },
  async mosaic() {
    const sources = ["second", "third", "fourth"].map((name) => `${name}=${vtest}`).join(" ");
    await runRecipe(`mosaic ${vtest} ${sources} --frames ${FRAMES} --video ${at("mosaic.mp4")}`);
    const { frames, width, height } = await probeVideo(at("mosaic.mp4"));
    assert.deepEqual([width, height], [1280, 720]);
    assert.ok(Math.abs(frames - FRAMES * 2.5) <= 5, `${frames} frames`);
    return `${frames} frames`;
  },
};

describe("in full, the recipe", () => {
  for (const name of RECIPE_NAMES)
    test(name, { skip: name === "mosaic" || needsVtest(name) ? noClip : noModel }, async (t) => {
      const run = FULL[name] ?? assert.fail(`FULL has no run of ${name}`);
      t.diagnostic(await run());
    });
});

/** `windhover run` that publishes in real time, until it is interrupted. */
async function publishing(words: readonly string[], whilePublished: () => Promise<void>): Promise<void> {
  const running = start(["run", ...words, "--pace", "realtime"]);
  try {
    await whilePublished();
  } finally {
    running.child.kill("SIGINT");
    await running.done;
  }
}

describe("with a real service, the recipe", { skip: noClip }, () => {
  let service: TestService;
  let rtsp: string;
  before(async () => {
    service = await TestService.start({ env: { WINDHOVER_GRAPHS_FOLDERS: folder } });
    ({ rtsp = "" } = await service.serving.event("ready"));
  });
  after(() => service?.close());

  const withKey = (address: string): string => address.replace("://", `://any:${MASTER_KEY}@`);
  const register = (path: string) =>
    service.expect<SourceRecord>(201, "POST", "/stream", {
      json: { alias: path, input_url: `${rtsp}/master/${path}`, stream_type: "rtsp" },
    });
  /** Width and height of a stream. */
  async function probe(address: string): Promise<readonly number[]> {
    const { code, out, err } = await runLine(
      `npx windhover launch 'source uri="${withKey(address)}" ! decode ! print' --frames 3`,
    );
    assert.equal(code, 0, err);
    const { width, height } = JSON.parse(out.trim().split("\n").at(-1) ?? "");
    return [width, height];
  }

  test("two-resolutions publishes both videos to the hub", async (t) => {
    const sources = await Promise.all(["gate", "gate-small"].map(register));
    const [large = "", small = ""] = ["gate", "gate-small"].map((path) => `${rtsp}/master/${path}`);
    const outputs = [`large=${withKey(large)}`, `small=${withKey(small)}`, "publish=true", `every=${EVERY}`];
    await publishing(["two-resolutions", vtest ?? "", ...outputs], async () => {
      for (const { uuid } of sources)
        await poll("it is published", async () => {
          const { status } = await service.expect<SourceRecord>(200, "GET", `/source/${uuid}`);
          return status === "streaming";
        });
      const sizes = [await probe(large), await probe(small)];
      assert.deepEqual(sizes, [
        [768, 576],
        [480, 360],
      ]);
      t.diagnostic(`published ${sizes.map((size) => size.join(" × ")).join(" and ")}`);
    });
  });

  test("mosaic shows a source of the service and three addresses, as an RTSP output", async (t) => {
    const others = ["second", "third", "fourth"].map((name) => `  ${name}: { default: "test:ball?fps=10" }\n`);
    writeFileSync(at("wall.yaml"), `graph: wall\nabout: Four views.\nextends: mosaic\nparams:\n${others.join("")}`);
    const { uuid } = await uploadVideo(service, vtest ?? "", { loop: true });
    const { process_uuid: process } = await service.expect<StartedProcess>(
      ...([201, "POST", `/start?source_uuid=${uuid}&graph=wall`, { json: {} }] as const),
    );
    const output = await service.expect<OutputRecord>(201, "POST", "/output", {
      json: { alias: "wall", type: "rtsp", url: "rtsp://wall", settings: "720p" },
    });
    const attached = await service.expect<OutputRecord>(200, "POST", `/process/${process}/${output.uuid}`);
    await poll("the output is live", async () => {
      const { status } = await service.expect<OutputRecord>(200, "GET", `/output/${output.uuid}`);
      return status === "live";
    });
    const size = await probe(attached.play_url ?? "");
    assert.deepEqual(size, [1280, 720]);
    await service.expect(200, "DELETE", `/process/${process}`);
    t.diagnostic(`published ${size.join(" × ")}`);
  });
});
