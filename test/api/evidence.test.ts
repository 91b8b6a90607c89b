import assert from "node:assert/strict";
import { test } from "node:test";
import { MISSING_CLIP, testClip } from "../clips.fixture.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { CLIP_SECONDS, Evidence, makeMarked } from "./evidence.fixture.ts";
import { uploadVideo } from "./service.fixture.ts";
import { shareService } from "./shared-service.fixture.ts";

const service = await shareService("evidence", "--recording");
const clip = testClip("vtest.avi");
const skip = clip === null ? MISSING_CLIP : await withoutModel("default");

test("evidence of a file, with boxes: the frame of the notice is at its second", { skip }, async () => {
  const evidence = new Evidence(service, temporaryFolder(), { beforeSeconds: 1, afterSeconds: 1, every: 4 });
  const source = await uploadVideo(service, makeMarked(clip ?? "", CLIP_SECONDS));
  const uuid = await evidence.startOn(source);
  const alert = await evidence.addAlert(uuid, true);
  const found = await evidence.ended(await evidence.next(alert, 0));
  assert.equal(found.evidence?.state, "ready", JSON.stringify(found.evidence));
  await evidence.checkFrame(found);
});
