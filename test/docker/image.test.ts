/** Static checks of the Dockerfile and its scripts. docker/prove.sh builds and runs the image, which takes minutes and root. */
import assert from "node:assert/strict";
import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { CONFIG_KEYS } from "../../server/config/keys.ts";
import { OTHER_VARIABLES } from "../../server/config/read-settings.ts";
import { copiesOf, readDockerfile, textOf } from "./dockerfile.ts";

const ROOT = new URL("../../", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), "utf8");
const stages = readDockerfile(read("docker/Dockerfile"));
const [build, last] = stages;
assert.ok(build !== undefined && last !== undefined);

test("has a build stage and a runtime stage on the same supported Node and Debian", () => {
  assert.equal(stages.length, 2);
  assert.equal(build.name, "build");
  // Node 20 reached its end of life in April 2026. docker/pin.sh appends the digest.
  for (const { image } of stages) assert.match(image, /^node:(22|24)-bookworm-slim(@sha256:[0-9a-f]{64})?$/);
  assert.equal(build.image, last.image, "the addon requires the Node version it was built with");
});

test("runs as an unprivileged user, has a health check, and stops on SIGTERM", () => {
  const user = textOf(last, "USER") ?? "root";
  assert.match(read("docker/install.sh"), new RegExp(`^useradd .*--uid [1-9]\\d{3,} .*${user}$`, "m"));
  const after = last.instructions.slice(last.instructions.findIndex(({ name }) => name === "USER"));
  assert.ok(!after.some(({ name }) => name === "RUN" || name === "COPY"), "no build step runs as that user");
  assert.match(textOf(last, "HEALTHCHECK") ?? "", /--interval=.* --timeout=.* CMD \["node", "docker\/healthy\.mjs"\]$/);
  assert.equal(textOf(last, "STOPSIGNAL"), "SIGTERM");
  assert.equal(textOf(last, "ENTRYPOINT"), '["node", "cli/windhover.mjs"]');
});

test("lets the service write its data and the clip of the demo, but not the plugin registry", () => {
  const warm = read("docker/warm.sh");
  const owned = [...warm.matchAll(/^chown .*windhover:windhover (.*)$/gm)].map(([, paths]) => paths);
  assert.deepEqual(owned, [".cache/clips"]);
  assert.match(warm, /^chown -R root:root \.cache\/registry\nchmod -R u=rwX,go=rX \.cache\/registry$/m);
  assert.match(read("docker/install.sh"), /^install --directory --owner=windhover .*--mode=0700 /m);
});

test("copied files, scripts and entry points exist, and scripts are executable", () => {
  for (const stage of stages) {
    for (const { from, sources } of copiesOf(stage)) {
      if (from !== null)
        assert.ok(
          stages.some(({ name }) => name === from),
          from,
        );
      else for (const source of sources) assert.ok(existsSync(new URL(source, ROOT)), source);
    }
    for (const { name, text } of stage.instructions)
      if (name === "RUN") accessSync(new URL(text, ROOT), constants.X_OK);
  }
  const commands = ["ENTRYPOINT", "HEALTHCHECK"].map((name) => textOf(last, name) ?? "");
  for (const [, file = ""] of commands.join().matchAll(/"([^"]+\.mjs)"/g))
    assert.ok(existsSync(new URL(file, ROOT)), file);
});

test("copies all files of the installation step before running it", () => {
  const copied = copiesOf(last).flatMap(({ from, sources }) => (from === null ? sources : []));
  const needed = ["docker/install.sh"];
  for (const file of needed) {
    assert.ok(copied.includes(file), `${file} is not copied`);
    const text = read(file);
    for (const [, path = ""] of text.matchAll(/^node (\S+)$/gm)) needed.push(path);
    for (const [, path = ""] of text.matchAll(/ from "(\.[^"]+)"/g))
      needed.push(new URL(path, new URL(file, "file:///")).pathname.slice(1));
  }
  assert.ok(needed.includes("setup/packages.mjs"));
});

test("variables are settings of the service, and their folders are created by the scripts", () => {
  const variables = new Map(
    (textOf(last, "ENV") ?? "").split(/\s+/).map((pair) => pair.split("=") as [string, string]),
  );
  const known = new Set<string>([...CONFIG_KEYS.map(({ variable }) => variable), ...OTHER_VARIABLES]);
  for (const name of variables.keys()) if (name.startsWith("WINDHOVER_")) assert.ok(known.has(name), name);
  const folder = textOf(last, "WORKDIR");
  const [, cache, registry] =
    /WINDHOVER_CACHE_DIR="\$PWD\/(\S+)" GST_REGISTRY_1_0="\$PWD\/(\S+)"/.exec(read("docker/warm.sh")) ?? [];
  assert.equal(variables.get("WINDHOVER_CACHE_DIR"), `${folder}/${cache}`);
  assert.equal(variables.get("GST_REGISTRY_1_0"), `${folder}/${registry}`);
  assert.equal(textOf(last, "VOLUME"), JSON.stringify([variables.get("WINDHOVER_DATA_DIR")]));
  assert.ok(
    read("docker/install.sh")
      .trimEnd()
      .endsWith(` ${variables.get("WINDHOVER_DATA_DIR")}`),
  );
});

test("exposes the default ports of the service", () => {
  const ports = ["http.port", "rtsp.port", "rtmp.port", "srt.port"].map((name) =>
    CONFIG_KEYS.find((key) => key.name === name),
  );
  assert.equal(
    textOf(last, "EXPOSE"),
    ports.map((key) => `${key?.schema.default}${key?.name === "srt.port" ? "/udp" : ""}`).join(" "),
  );
});

test("keeps passwords, history and build outputs out of the image", () => {
  const ignored = read("docker/Dockerfile.dockerignore").split("\n");
  for (const path of [".git", "**/.env", "windhover.yaml", "node_modules", "build", "data"])
    assert.ok(ignored.includes(path), path);
  assert.match(read(".gitignore"), /^\.env$/m);
});

test("every script has a shebang line, exits at the first error and is executable", () => {
  const scripts = readdirSync(new URL("docker/", ROOT)).filter((name) => name.endsWith(".sh"));
  assert.ok(scripts.length >= 3);
  for (const name of scripts) {
    const text = read(`docker/${name}`);
    assert.match(text, /^#!\/(bin\/sh|usr\/bin\/env bash)\n#/, name);
    assert.match(text, /^set -eu/m, name);
    assert.ok((statSync(new URL(`docker/${name}`, ROOT)).mode & 0o111) !== 0, name);
  }
});
