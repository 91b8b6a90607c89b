import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { pino } from "pino";
import { CLIP_PROTOCOL } from "../../schemas/clip.ts";
import { ClipPublisher } from "./clip-publisher.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-clip-"));
after(() => rmSync(folder, { recursive: true }));

const stage = (name: string) => `process.send({ type: "stage", stage: "${name}" });`;
const over = (detail: string) => `process.send({ type: "over", detail: "${detail}" }, () => process.exit(0));`;

/** A child that does `first` in its first life and `then` in each other. Closed with the test. */
function open(first: string, then: string): ClipPublisher {
  const [entry, marker] = ["mjs", "lived"].map((ending) => join(folder, `${Math.random()}.${ending}`)) as [
    string,
    string,
  ];
  writeFileSync(
    entry,
    `import { existsSync, writeFileSync } from "node:fs";
    process.once("disconnect", () => process.exit());
    process.once("message", () => {
      const isFirst = !existsSync(${JSON.stringify(marker)});
      writeFileSync(${JSON.stringify(marker)}, "");
      if (isFirst) { ${first} } else { ${then} }
    });
    process.send({ type: "hello", protocol: ${CLIP_PROTOCOL} });`,
  );
  const config = { clip: null };
  const publisher = new ClipPublisher({
    ...{ config, log: pino({ level: "silent" }), entry: pathToFileURL(entry), path: "someone/demo" },
    media: { issueToken: () => ({ url: "rtsp://127.0.0.1/someone/demo", token: "", revoke() {} }) },
    isWanted: async () => true,
    restart: { firstMs: 10, maxMs: 10 },
  });
  after(() => publisher.close());
  return publisher;
}

test("a hub that accepts the clip only at the second attempt publishes it", async () => {
  const publisher = open(`${stage("connecting")} ${over("the server did not answer ANNOUNCE")}`, stage("publishing"));
  await publisher.untilPublishing(60_000);
  assert.deepEqual([publisher.stage, publisher.trouble], ["publishing", null]);
});

test("a clip that cannot be prepared is reported at once", async () => {
  const publisher = open(`${stage("converting")} ${over("is not a video")}`, stage("publishing"));
  await assert.rejects(publisher.untilPublishing(60_000), /is not a video/);
});

test("a hub that never accepts the clip is reported after the limit", async () => {
  const refused = `${stage("connecting")} ${over("the server closed the connection")}`;
  await assert.rejects(open(refused, refused).untilPublishing(100), /the server closed the connection/);
});
