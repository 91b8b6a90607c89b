/** `windhover mcp` with the client of the protocol's own SDK, graphs of this machine, and a real service. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { windhover } from "../../cli/windhover.fixture.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { createKey, uploadVideo } from "./service.fixture.ts";
import { shareService } from "./shared-service.fixture.ts";

const COMMAND = fileURLToPath(new URL("../../cli/windhover.mjs", import.meta.url));
const GRAPH = "graph: mine\nchains:\n  main: [source, decode, print]\n";
/** Not a measurement: only turns a hang into a failure. */
const LIMIT_MS = 120_000;

interface Called {
  readonly text: string;
  readonly isError: boolean;
}

const folder = temporaryFolder();
const service = await shareService("model");
const opened: Client[] = [];
after(() => Promise.all(opened.map((client) => client.close())));

class Model {
  readonly #client = new Client({ name: "test", version: "1.0.0" });

  static async connect(args: readonly string[], key?: string): Promise<Model> {
    const model = new Model();
    const { WINDHOVER_API_KEY: _, ...inherited } = process.env as Record<string, string>;
    const env = { ...inherited, ...(key !== undefined && { WINDHOVER_API_KEY: key }) };
    const server = { command: process.execPath, args: [COMMAND, "mcp", ...args], env, stderr: "ignore" as const };
    await model.#client.connect(new StdioClientTransport(server), { timeout: LIMIT_MS });
    opened.push(model.#client);
    return model;
  }

  async tools(): Promise<ReadonlyMap<string, { readonly annotations?: { readonly readOnlyHint?: boolean } }>> {
    const { tools } = await this.#client.listTools({}, { timeout: LIMIT_MS });
    return new Map(tools.map((tool) => [tool.name, tool as object]));
  }

  async call(name: string, input: Record<string, unknown> = {}): Promise<Called> {
    const result = await this.#client.callTool({ name, arguments: input }, { timeout: LIMIT_MS });
    const [content] = result.content as readonly { readonly type: string; readonly text: string }[];
    return { text: content?.text ?? "", isError: result.isError === true };
  }

  async read<T>(name: string, input: Record<string, unknown> = {}): Promise<T> {
    const { text, isError } = await this.call(name, input);
    assert.equal(isError, false, text);
    return JSON.parse(text) as T;
  }
}

describe("graphs of this machine", () => {
  let model: Model;
  before(async () => {
    model = await Model.connect([]);
  });

  test("the tools are check, explain, run and describe", async () => {
    assert.deepEqual([...(await model.tools()).keys()], ["check", "explain", "run", "describe"]);
  });

  test("check returns the faults of a text with their positions, and nothing for a valid one", async () => {
    assert.deepEqual(await model.read("check", { yaml: GRAPH }), []);
    const { text, isError } = await model.call("check", { yaml: GRAPH.replace("print", "prnt") });
    assert.ok(isError);
    const [fault] = JSON.parse(text) as { at: { line: number; file: string }; suggestion: string }[];
    assert.deepEqual([fault?.at.line, fault?.suggestion, fault?.at.file], [3, "print", "graph.yaml"]);
  });

  test("explain shows the pipeline, describe an element", async () => {
    const { text } = await model.call("explain", { yaml: GRAPH, source: "test:ball" });
    assert.match(text, /videotestsrc/);
    assert.match((await model.call("describe", { find: "h264" })).text, /h264parse/);
    const unknown = await model.call("describe", { element: "trakc" });
    assert.ok(unknown.isError);
    assert.match(unknown.text, /track/);
  });

  test("run ends after the frames that it was given", async () => {
    const { text, isError } = await model.call("run", { yaml: GRAPH, source: "test:ball", frames: 3 });
    assert.equal(isError, false, text);
    assert.equal(text.split("\n").filter((line) => line.startsWith("{")).length, 3, text);
  });

  test("arguments are checked before anything runs", async () => {
    for (const [name, input, reason] of [
      ["run", { yaml: GRAPH, frames: 1e9 }, /\/frames is 1000000000; expected a whole number from 1 to 10000/],
      ["run", { source: "test:ball" }, /expected an object with graph or an object with yaml/],
      ["check", { graph: "--help" }, /not an option/],
      ["describe", { colour: "red" }, /\/colour is not known here; .*element/],
      ["describe", { elemnt: "track" }, /did you mean "element"\?$/],
      ["describe", { element: "a", find: "b" }, /not both/],
      ["nothing", {}, /Unknown tool "nothing"\.$/],
      ["chek", {}, /Unknown tool "chek"; did you mean "check"\?$/],
    ] as const) {
      const { text, isError } = await model.call(name, input);
      assert.ok(isError, name);
      assert.match(text, reason);
    }
  });
});

describe("a service", () => {
  let source: SourceRecord;
  before(async () => {
    const clip = await makeClip(folder, 5_000, "width=64&height=48");
    source = await uploadVideo(service, clip, { alias: "yard" });
  });

  test("its operations are tools: sources are listed, a process is started, read and stopped", async () => {
    const model = await Model.connect(["--url", service.url], service.key);
    const tools = await model.tools();
    for (const name of ["check", "listSources", "startProcess", "stopProcess", "registerAlert"])
      assert.ok(tools.has(name), name);
    for (const name of ["uploadVideo", "watchFeed", "readDetectionData", "createKey"])
      assert.ok(!tools.has(name), name);
    const { sources } = await model.read<{ sources: SourceRecord[] }>("listSources", { limit: 5 });
    assert.deepEqual(
      sources.map(({ alias }) => alias),
      ["yard"],
    );
    const { process_uuid } = await model.read<{ process_uuid: string }>("startProcess", {
      ...{ source_uuid: source.uuid, body: { params: { every: 1000 } } },
    });
    const { state } = await model.read<{ state: string }>("readProcess", { process_uuid });
    assert.equal(state, "running");
    await model.read("stopProcess", { process_uuid });
    const missing = await model.call("readProcess", { process_uuid: "01890000-0000-7000-8000-000000000000" });
    assert.ok(missing.isError);
    assert.match(missing.text, /process_not_found/);
    const wrong = await model.call("startProcess", { source_uuid: "yard", body: {} });
    assert.match(wrong.text, /source_uuid is "yard"; expected a UUID/);
  });

  test("the key is that of the environment, and its scopes apply", async () => {
    const stranger = await Model.connect(["--url", service.url]);
    assert.match((await stranger.call("listSources")).text, /api_key_missing/);
    const other = await Model.connect(["--url", service.url], await createKey(service, "other-model"));
    assert.deepEqual(await other.read("listSources"), { sources: [] });
  });

  test("--read-only leaves only tools that change nothing, --tags chooses groups", async () => {
    const args = ["--url", service.url, "--read-only", "--tags", "Process,Keys"];
    const tools = await (await Model.connect(args, service.key)).tools();
    assert.ok(tools.has("listKeys") && tools.has("readProcess") && !tools.has("listSources"));
    for (const name of ["run", "startProcess", "createKey"]) assert.ok(!tools.has(name), name);
    assert.ok([...tools.values()].every(({ annotations }) => annotations?.readOnlyHint === true));
  });

  for (const [what, args, reason] of [
    ["a key in the URL", ["--url", "http://127.0.0.1:1/?api_key=x"], /WINDHOVER_API_KEY/],
    ["an unreachable service", ["--url", "http://127.0.0.1:1"], /cannot be reached/],
    ["an unknown group", ["--tags", "Proces"], /--tags needs --url/],
  ] as const)
    test(`rejects ${what}, and says what to do`, async () => {
      const { code, stderr } = await windhover(["mcp", ...args]);
      assert.notEqual(code, 0);
      assert.match(stderr, reason);
    });
});
