/** docker/pin.sh with a fake docker command, without access to registries. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { readDockerfile } from "./dockerfile.ts";

const DOCKER = fileURLToPath(new URL("../../docker/", import.meta.url));
const FILES = ["Dockerfile", "compose.yaml", "cluster/compose.yaml"];
const folder = mkdtempSync(join(tmpdir(), "windhover-pin-"));
after(() => rmSync(folder, { recursive: true, force: true }));
mkdirSync(join(folder, "cluster"));
for (const name of [...FILES, "pin.sh"]) copyFileSync(join(DOCKER, name), join(folder, name));
mkdirSync(join(folder, "bin"));
/** Writes the fake docker command. Its digest is derived from the name of the image and DAY. */
const writeDocker = (text: string): void => {
  writeFileSync(join(folder, "bin/docker"), `#!/bin/sh\n${text}\n`);
  chmodSync(join(folder, "bin/docker"), 0o755);
};
const env = (day: string) => ({ PATH: `${folder}/bin:${process.env.PATH}`, DAY: day });
const pin = (day: string, ...args: string[]): string =>
  execFileSync(join(folder, "pin.sh"), args, { env: env(day), encoding: "utf8" });
const read = (name: string): string => readFileSync(join(folder, name), "utf8");
const imagesOf = (): string[] => [
  ...readDockerfile(read("Dockerfile")).map(({ image }) => image),
  ...FILES.slice(1).flatMap((name) => [...read(name).matchAll(/^ +image: (\S+)$/gm)].map(([, image = ""]) => image)),
];

test("pins every third-party image to a digest, updates it on the next run, and removes it with --undo", () => {
  pin("", "--undo");
  const before = FILES.map(read);
  const tags = imagesOf();
  writeDocker(
    `[ "$1 $2 $3" = "buildx imagetools inspect" ] && printf 'sha256:' && printf '%s' "$4 $DAY" | sha256sum | cut -c 1-64`,
  );
  let seen: string[] = [];
  for (const day of ["one", "two"]) {
    pin(day);
    const pinned = imagesOf();
    assert.equal(pinned.length, tags.length);
    for (const [index, image] of pinned.entries())
      if (tags[index] === "windhover") assert.equal(image, "windhover");
      else assert.match(image, new RegExp(`^${tags[index]}@sha256:[0-9a-f]{64}$`));
    assert.notDeepEqual(pinned, seen);
    seen = pinned;
  }
  pin("", "--undo");
  assert.deepEqual(FILES.map(read), before);
});

test("reports an invalid digest and changes no file", () => {
  const before = FILES.map(read);
  writeDocker("echo unauthorized");
  const { status, stderr } = spawnSync(join(folder, "pin.sh"), { env: env(""), encoding: "utf8" });
  assert.equal(status, 1);
  assert.match(stderr, /no digest for \S+: "unauthorized"/);
  assert.deepEqual(FILES.map(read), before);
});
