/** The published client on the real service: a workflow, its examples, and that it is generated from this API. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { openAsBlob } from "node:fs";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { ApiError, type NewOutput, readMessages, sendMessages, Windhover } from "../../client/client.ts";
import { writeAll } from "../../docs/write/all.ts";
import { SCOPES } from "../../schemas/api/keys.ts";
import { loadEsbuild } from "../../setup/bundle.mjs";
import { buildClient } from "../../setup/client.mjs";
import { findPage } from "../docs/pages.ts";
import { takeTour } from "../docs/tour.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { type ApiDocument, findUnbounded, type RequestDocument } from "./api-contract.ts";
import { compareDocuments, type OpenApiDocument } from "./openapi-changes.ts";
import { shareService } from "./shared-service.fixture.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const bin = (name: string) => join(ROOT, "node_modules/.bin", name);
const run = promisify(execFile);

const folder = temporaryFolder();
// Pages of the documentation name its account.
const service = await shareService("master");
const clip = await makeClip(folder, 1500, "width=160&height=90");
const windhover = new Windhover({ url: service.url, apiKey: service.key, limitMs: 120_000 });

async function upload(): Promise<string> {
  const form = new FormData();
  form.set("alias", "campus");
  form.set("file", await openAsBlob(clip), "ball.mp4");
  return (await windhover.uploadVideo({ body: form })).uuid;
}

/** One inference per second is enough. */
const SELDOM = { params: { every: 25 } };
const startProcess = async (body: object): Promise<string> =>
  (await windhover.startProcess({ source_uuid: await upload(), body })).process_uuid;

/** Resolves with the first event of this name. */
async function awaitEvent(process_uuid: string, name: string): Promise<unknown> {
  const call = new AbortController();
  const { body } = await windhover.watchEvents({ process_uuid }, { signal: call.signal });
  let text = "";
  try {
    for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      const found = new RegExp(`^event: ${name}\\n(?:id: .*\\n)?data: (.*)\\n\\n`, "m").exec(text);
      if (found?.[1] !== undefined) return JSON.parse(found[1]);
    }
  } finally {
    call.abort();
  }
  return assert.fail(`no event ${name}:\n${text}`);
}

describe("the client on the service", () => {
  test("uploads, starts, receives events, attaches an output, adds an alert and stops, with typed responses", async () => {
    const source_uuid = await upload();
    const { process_uuid, telemetry_url } = await windhover.startProcess({ source_uuid, body: SELDOM });
    assert.equal(telemetry_url, "Not configured");
    const seen = (await awaitEvent(process_uuid, "detections")) as { readonly process_uuid: string };
    assert.equal(seen.process_uuid, process_uuid);

    const body: NewOutput = { alias: "lobby", type: "rtsp", url: "rtsp://lobby", settings: "360p" };
    const output = await windhover.registerOutput({ body });
    await windhover.attachOutput({ process_uuid, output_uuid: output.uuid });
    const { outputs } = await windhover.readProcess({ process_uuid });
    assert.deepEqual(outputs, [output.uuid]);

    const { example } = await windhover.describeAlertType({ name: "flow-control" });
    const alert = await windhover.addAlert({ uuid: process_uuid, body: example as never });
    assert.equal(alert.process_uuid, process_uuid);
    const { alerts } = await windhover.listActiveAlerts();
    assert.deepEqual(
      alerts.map(({ uuid }) => uuid),
      [alert.uuid],
    );

    await windhover.stopProcess({ process_uuid });
    const { processes } = await windhover.listProcesses();
    assert.deepEqual(processes, []);
  });

  test("reports invalid input by code and path", async () => {
    const body = { alias: " ", type: "rtsp", url: "http://elsewhere" } as const;
    const error = await windhover.registerOutput({ body }).then(
      () => assert.fail("the output was accepted"),
      (fault: unknown) => fault,
    );
    assert.ok(error instanceof ApiError, String(error));
    assert.deepEqual([error.status, error.code], [422, "invalid_input"]);
    assert.deepEqual(error.errors.map(({ path }) => path).sort(), ["/alias", "/url"]);
  });

  test("sends graphs as text", async () => {
    const result = await windhover.validateGraph({ body: "graph: bad\nchains: { main: [decod] }\n" });
    assert.equal(result.valid, false);
  });
});

describe("the package", async () => {
  const home = join(folder, "home");
  const installed = join(home, "node_modules/@windhover/client");
  await mkdir(installed, { recursive: true });
  await buildClient(installed);
  await writeFile(join(home, "package.json"), '{ "type": "module" }');
  const { blocks } = findPage("client/README.md");
  const examples = blocks.filter(({ language }) => language === "ts");

  test("its examples compile with its types, and an invalid one does not", async () => {
    for (const [i, { text }] of examples.entries()) await writeFile(join(home, `example-${i}.ts`), text);
    await writeFile(
      join(home, "wrong.ts"),
      'import { Windhover } from "@windhover/client";\nawait new Windhover({ url: "" }).startProcess({ source: "" });\n',
    );
    const args = [
      "--noEmit",
      "--strict",
      "--module",
      "nodenext",
      "--target",
      "es2022",
      "--lib",
      "es2023,dom,dom.iterable",
      "--skipDefaultLibCheck",
      "--checkers",
      "1",
    ];
    const types = ["--typeRoots", join(ROOT, "node_modules/@types"), "--types", "node"];
    const files = [...examples.keys()].map((i) => `example-${i}.ts`);
    const compile = (...paths: string[]) => run(bin("tsc"), [...args, ...types, ...paths], { cwd: home });
    const printed = await compile(...files, "wrong.ts").then(
      () => assert.fail("the invalid example compiles"),
      ({ stdout }: { stdout: string }) => stdout,
    );
    const lines = printed.trim().split("\n");
    assert.ok(lines.length > 0 && lines.every((line) => /^(wrong\.ts|\s)/.test(line)), printed);
  });

  test("its first example prints the documented output", async () => {
    await copyFile(clip, join(home, "clip.mp4"));
    const env = { ...process.env, WINDHOVER_URL: service.url, WINDHOVER_KEY: service.key };
    const { code } = await loadEsbuild().transform(examples[0]?.text ?? "", { loader: "ts" });
    await writeFile(join(home, "example.js"), code);
    const { stdout } = await run(process.execPath, ["example.js"], { cwd: home, env });
    assert.equal(stdout, blocks.find(({ language }) => language === "text")?.text);
  });
});

describe("the Python client", () => {
  const { blocks } = findPage("client/python/README.md");
  const [first = "", second = ""] = blocks.filter(({ language }) => language === "python").map(({ text }) => text);
  const env = { WINDHOVER_URL: service.url, WINDHOVER_KEY: service.key, PYTHONPATH: join(ROOT, "client/python") };
  /** One after the other in one interpreter: to load the client takes longer than most of them run. */
  const RUN_ALL = `
import sys
for text in sys.argv[1:]:
    exec(compile(text, "example.py", "exec"), {"__name__": "__main__"})
    print("--", flush=True)
`;

  test("its examples print what is documented; errors, texts, streams and parameters arrive as they were sent", async () => {
    await copyFile(clip, join(folder, "clip.mp4"));
    // Debian's, which has the packages that the client needs.
    const { stdout } = await run("/usr/bin/python3", ["-B", "-c", RUN_ALL, first, second, PYTHON_CHECKS], {
      ...{ cwd: folder, env, timeout: 120_000 },
    });
    const { username } = await windhover.getUserInfo();
    const documented = blocks.find(({ language }) => language === "text")?.text;
    assert.deepEqual(stdout.split("--\n"), [documented, `1 ${username}\n`, "all of them\n", ""]);
  });
});

const PYTHON_CHECKS = `
import asyncio, os
from contextlib import closing
from windhover import ApiError, AsyncWindhover, Windhover, read_messages, send_messages

def fails(call):
    try:
        call()
    except ApiError as error:
        return error
    raise AssertionError("the call succeeded")

url, key = os.environ["WINDHOVER_URL"], os.environ["WINDHOVER_KEY"]
with Windhover(url, lambda: key, timeout=120) as windhover:
    error = fails(lambda: windhover.register_output(body={"alias": " ", "type": "rtsp", "url": "http://elsewhere"}))
    assert (error.status, error.code) == (422, "invalid_input"), error
    assert sorted(fault["path"] for fault in error.errors) == ["/alias", "/url"], error.errors
    assert error.request_id is not None
    assert fails(lambda: windhover.read_process("..")).code == "invalid_input"
    assert windhover.validate_graph(body="graph: bad\\nchains: { main: [decod] }\\n")["valid"] is False
    assert windhover.list_processes(limit=1)["processes"] is not None
    assert windhover.get_graph("detect")["name"] == "detect"
    source = windhover.list_sources(limit=1)["sources"][0]
    started = windhover.start_process(source_uuid=source["uuid"], body={"params": {"every": 25}})
    socket = started["detection_data_url"]
    for wrong, status, code in (
        (socket.split("?")[0] + "?api_key=wh_wrong", 403, "api_key_invalid"),
        (socket.replace(started["process_uuid"], "00000000-0000-4000-8000-000000000000"), 404, "process_not_found"),
    ):
        for call in (lambda: next(read_messages(wrong)), lambda: send_messages(wrong, [{}])):
            error = fails(call)
            assert (error.status, error.code) == (status, code), (error.status, error.code, error)
            assert error.request_id is not None and "rejected WebSocket" not in str(error), error
    first = read_messages(socket)
    next(first)
    error = fails(lambda: next(read_messages(socket)))
    assert (error.status, error.code) == (409, "socket_in_use"), error
    assert "accepts one at a time" in str(error), error
    first.close()
    windhover.stop_process(started["process_uuid"])
    with closing(windhover.get_console()) as page:
        assert page.headers["content-type"].startswith("text/html")
        assert b"<html" in b"".join(page.iter_bytes())
assert fails(lambda: Windhover("http://127.0.0.1:9").get_user_info()).code == "no_answer"
assert fails(lambda: next(read_messages("ws://127.0.0.1:9/"))).code == "no_answer"
assert fails(lambda: Windhover(url, "wh_ключ").get_user_info()).code == "invalid_input"
assert fails(lambda: Windhover(url, "wh_wrong").get_user_info()).status == 403

async def main():
    async with AsyncWindhover(url, key) as windhover:
        try:
            await windhover.read_process("00000000-0000-4000-8000-000000000000")
        except ApiError as error:
            assert error.status == 404, error
        else:
            raise AssertionError("the call succeeded")
asyncio.run(main())
print("all of them")
`;

test("a websocket that is rejected, or cannot be opened, says why", async () => {
  const { WebSocket } = (await import("ws")) as unknown as { WebSocket: typeof globalThis.WebSocket };
  const unknown = "00000000-0000-4000-8000-000000000000";
  const base = service.url.replace("http", "ws");
  for (const [url, code] of [
    [`${base}/process/${unknown}/detection_data?api_key=wh_wrong`, "api_key_invalid"],
    ["ws://127.0.0.1:9/", "no_answer"],
  ] as const) {
    const isRight = (error: unknown) => error instanceof ApiError && error.code === code;
    await assert.rejects(readMessages(url, { WebSocket }).next(), isRight, code);
    await assert.rejects(sendMessages(url, [{}], { WebSocket }), isRight, code);
  }
  const url = `${base}/process/${unknown}/detection_data?api_key=${service.key}`;
  await assert.rejects(readMessages(url, { WebSocket }).next(), /was rejected: no such process is running/);
});

test("generated pages and the client are up to date; if not: npm run generate", async () => {
  const document = await (await fetch(`${service.url}/openapi.json`)).json();
  for (const [path, text] of await writeAll(document)) {
    const expected = path.endsWith(".ts") ? await format(path, text) : text;
    assert.equal(await readFile(join(ROOT, path), "utf8"), expected, path);
  }
});

/**
 * The document before accounts had several keys, events and listings with filters, without its texts. Replace it with that of
 * each release.
 */
const RELEASED = join(ROOT, "test/api/openapi-before-keys.json.gz");
/** What was changed on purpose: see the changelog. */
const STATED = /: unknown fields are rejected$/;

test("the API is that of the release before, and more", async (context) => {
  const before = JSON.parse(gunzipSync(await readFile(RELEASED)).toString()) as OpenApiDocument;
  const now = (await (await fetch(`${service.url}/openapi.json`)).json()) as OpenApiDocument;
  const { breaking, added } = compareDocuments(before, now);
  context.diagnostic(`${added.length} additions`);
  assert.deepEqual(
    breaking.filter((change) => !STATED.test(change)),
    [],
  );
  assert.ok(breaking.length > 0, "nothing is left to state");
});

test("the collection has the requests of the document, and no others", async () => {
  interface Item {
    readonly name: string;
    readonly item?: readonly Item[];
    readonly request?: { readonly method: string; readonly url: { readonly path: readonly string[] } };
  }
  const { item } = JSON.parse(await readFile(join(ROOT, "docs/windhover.postman_collection.json"), "utf8")) as Item;
  const requests = (item ?? []).flatMap(({ item: inner = [] }) => inner.flatMap(({ request }) => request ?? []));
  const listed = requests.map(({ method, url }) => `${method} /${url.path.join("/").replaceAll(/:(\w+)/g, "{$1}")}`);
  const operations = service.contract.operations.map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual(listed.toSorted(), operations.toSorted());
});

test("every text and every list of a request is bounded in its schema", async () => {
  const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as RequestDocument;
  assert.deepEqual(findUnbounded(document), []);
  const body = { content: { "application/json": { schema: { type: "array", items: { type: "string" } } } } };
  const open = { paths: { "/a": { post: { requestBody: body } } } };
  assert.deepEqual(findUnbounded(open), ["post /a is a list of any length", "post /a is text of any length"]);
});

/** For every valid key. */
const WITHOUT_SCOPE = ["getInfo", "getUserInfo", "login", "loginByPost", "signOut"];

test("every operation names the scope that a key needs", async () => {
  const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as ApiDocument;
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const needed = operations.flatMap(({ operationId, security }) =>
    security.flatMap((scheme) =>
      Object.entries(scheme).map(([name, scopes]) => ({ operationId, name, scopes, security })),
    ),
  );
  assert.ok(needed.length > 150);
  const free = needed.filter(({ name, scopes, security }) => {
    const isOptional = security.some((scheme) => Object.keys(scheme).length === 0);
    return name !== "signed_url" && !isOptional && scopes.length === 0;
  });
  assert.deepEqual([...new Set(free.map(({ operationId }) => operationId))].sort(), WITHOUT_SCOPE);
  for (const { operationId, scopes } of needed)
    assert.ok(scopes.length <= 1 && scopes.every((scope) => SCOPES.some((known) => known === scope)), operationId);
});

describe("responses to the calls of the documentation are as shown", () => {
  for (const path of ["README.md", "docs/streams.md", "docs/reports.md"])
    test(path, async () => {
      // README.md shows a process with the default parameters, that of the demo.
      const process_uuid = path === "docs/streams.md" ? "" : await startProcess(path === "README.md" ? {} : SELDOM);
      const { rtmp = "" } = await service.serving.event("ready");
      const places = { "localhost:8080": new URL(service.url).host, "localhost:1935": rtmp.replace("rtmp://", "") };
      const faults = await takeTour(findPage(path), {
        folder,
        env: { KEY: service.key, ...(path === "docs/reports.md" && { PROCESS: process_uuid }) },
        places,
      });
      await windhover.stopProcesses();
      assert.deepEqual(faults, []);
    });
});

/** Formats like `npm run generate`. */
async function format(path: string, text: string): Promise<string> {
  const child = spawn(bin("biome"), ["check", "--write", `--stdin-file-path=${path}`], {
    cwd: ROOT,
    stdio: ["pipe", "pipe", "ignore"],
  });
  child.stdin.end(text);
  let formatted = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    formatted += piece;
  });
  await once(child, "close");
  return formatted;
}
