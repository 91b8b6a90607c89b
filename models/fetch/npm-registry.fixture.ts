/** A local npm registry with one package, for the real npm to fetch from. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after } from "node:test";

export interface Registry {
  readonly integrity: string;
  /** Number of requests for the tarball. */
  readonly fetches: () => number;
}

/** Sets npm's environment variables in this process; cleans up after the tests of the file. */
export async function startRegistry(name: string, files: Readonly<Record<string, Uint8Array>>): Promise<Registry> {
  const folder = mkdtempSync(join(tmpdir(), "windhover-registry-"));
  const manifest = Buffer.from(JSON.stringify({ name, version: "1.0.0" }));
  for (const [path, content] of Object.entries({ "package/package.json": manifest, ...files })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  execFileSync("tar", ["-C", folder, "-czf", join(folder, "package.tgz"), "package"]);
  const tarball = readFileSync(join(folder, "package.tgz"));
  const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
  let fetches = 0;
  const server = createServer(({ url = "" }, response) => {
    if (url.endsWith(".tgz")) {
      fetches++;
      return response.end(tarball);
    }
    if (url !== `/${name}`) return response.writeHead(404, { "content-type": "application/json" }).end("{}");
    const dist = { tarball: `http://127.0.0.1:${port}/${name}-1.0.0.tgz`, integrity };
    const versions = { "1.0.0": { name, version: "1.0.0", dist } };
    return response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ name, "dist-tags": { latest: "1.0.0" }, versions }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const settings = {
    npm_config_registry: `http://127.0.0.1:${port}/`,
    npm_config_cache: join(folder, "npm-cache"),
    npm_config_noproxy: "127.0.0.1",
  };
  const before = Object.keys(settings).map((key) => [key, process.env[key]] as const);
  Object.assign(process.env, settings);
  after(() => {
    for (const [key, value] of before) {
      if (value === undefined) delete process.env[key];
      else process.env[key] = value;
    }
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { integrity, fetches: () => fetches };
}
