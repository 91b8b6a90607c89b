/**
 * Tools for graphs on this machine. Each runs a command of `windhover` in a process of its own, with a time limit: a
 * pipeline that crashes does not end the server.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cut, failure, MOST_CHARACTERS, type Tool, type ToolResult } from "./tool.ts";

const [FRAMES, MOST_FRAMES] = [100, 10_000];
const [SECONDS, MOST_SECONDS] = [30, 300];
/** Of commands that only read; and of a run, beyond its own limit: it loads models first. */
const LIMIT_MS = 60_000;

const GRAPH = {
  graph: {
    type: "string",
    minLength: 1,
    maxLength: 4096,
    description: "A graph file, or the name of a template: `detect`.",
  },
  yaml: { type: "string", minLength: 1, maxLength: 1_048_576, description: "The text of a graph, instead of `graph`." },
};
const INPUT = {
  source: {
    ...{ type: "string", minLength: 1, maxLength: 4096, pattern: "^[^-]" },
    description: "A video file, an rtsp or rtmp URL, or `test:ball`.",
  },
  params: {
    ...{ type: "object", maxProperties: 100, propertyNames: { pattern: "^[A-Za-z][A-Za-z0-9_-]*$" } },
    additionalProperties: { type: ["string", "number", "boolean"] },
    description: "Parameters of the graph by name; lists as `person,car`.",
  },
};
const schemaOf = (properties: object, isGraph = true) => ({
  ...{ type: "object" as const, properties, additionalProperties: false },
  ...(isGraph && { oneOf: [{ required: ["graph"] }, { required: ["yaml"] }] }),
});

type Input = Readonly<Record<string, unknown>>;

export const GRAPH_TOOLS: readonly Tool[] = [
  {
    name: "check",
    description: "Check a graph: every fault with line, column and a suggestion. An empty list: it is valid.",
    inputSchema: schemaOf(GRAPH),
    isReadOnly: true,
    call: (input, signal) => withGraph(input, (graph) => execute(["check", "--json", graph], LIMIT_MS, signal)),
  },
  {
    name: "explain",
    description: "Show what a graph compiles to: its pipeline, its threads, and the equivalent gst-launch line.",
    inputSchema: schemaOf({ ...GRAPH, ...INPUT }),
    isReadOnly: true,
    call: (input, signal) =>
      withGraph(input, (graph) => execute(["explain", graph, ...wordsOf(input)], LIMIT_MS, signal)),
  },
  {
    name: "run",
    description: `Run a graph on a source on this machine and return what it prints: for \`detect\` one JSON message per frame with inference. It ends after \`frames\` or \`seconds\`. Graphs can write files.`,
    inputSchema: schemaOf({
      ...GRAPH,
      ...INPUT,
      frames: { type: "integer", minimum: 1, maximum: MOST_FRAMES, description: `Default: ${FRAMES}.` },
      seconds: {
        type: "number",
        minimum: 1,
        maximum: MOST_SECONDS,
        description: `Of the source. Default: ${SECONDS}.`,
      },
    }),
    isReadOnly: false,
    call(input, signal) {
      const { frames = FRAMES, seconds = SECONDS } = input;
      const limits = ["--frames", String(frames), "--seconds", String(seconds)];
      return withGraph(input, (graph) =>
        execute(["run", graph, ...wordsOf(input), ...limits], LIMIT_MS + Number(seconds) * 1000, signal),
      );
    },
  },
  {
    name: "describe",
    description:
      "Describe an element of graphs with its properties, pads and an example, or list elements: all, or those with a word in their name, description or properties.",
    inputSchema: schemaOf(
      {
        element: { type: "string", minLength: 1, maxLength: 100, pattern: "^[A-Za-z]", description: "`track`" },
        find: { type: "string", minLength: 1, maxLength: 100, pattern: "^[^-]", description: "`h264`" },
      },
      false,
    ),
    isReadOnly: true,
    async call({ element, find }, signal) {
      if (element !== undefined && find !== undefined) return failure("Send either `element` or `find`, not both.");
      if (element !== undefined) return execute(["inspect", String(element)], LIMIT_MS, signal);
      return execute(["inspect", ...(find === undefined ? [] : ["--find", String(find)])], LIMIT_MS, signal);
    },
  },
];

function wordsOf({ source, params = {} }: Input): readonly string[] {
  const assigned = Object.entries(params as Input).map(([name, value]) => `${name}=${value}`);
  return [...(source === undefined ? [] : [String(source)]), ...assigned];
}

/** The path of the graph; its text is written to a file for as long as it is used. */
async function withGraph({ graph, yaml }: Input, use: (graph: string) => Promise<ToolResult>): Promise<ToolResult> {
  if (graph !== undefined) {
    return String(graph).startsWith("-") ? failure("`graph` is a file or a name, not an option.") : use(String(graph));
  }
  const folder = await mkdtemp(join(tmpdir(), "windhover-mcp-"));
  try {
    const file = join(folder, "graph.yaml");
    await writeFile(file, String(yaml));
    const { text, isError } = await use(file);
    return { text: text.replaceAll(file, "graph.yaml"), isError };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs a command of this program. The key of the service is not passed on. */
function execute(args: readonly string[], timeout: number, signal: AbortSignal): Promise<ToolResult> {
  const { WINDHOVER_API_KEY: _, ...env } = process.env;
  const [program = ""] = process.argv.slice(1);
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [program, ...args],
      { env: { ...env, NO_COLOR: "1" }, timeout, signal, maxBuffer: MOST_CHARACTERS * 4, killSignal: "SIGTERM" },
      (error, out, errors) => {
        const isLong = (error as { code?: unknown } | null)?.code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER";
        const isLate = error?.killed === true && !isLong;
        const late = isLate ? `\nended: it took more than ${timeout / 1000} seconds` : "";
        const text = [out.trimEnd(), errors.trimEnd()].filter((part) => part !== "").join("\n");
        resolve({ text: cut(text) + late, isError: error !== null && !isLong });
      },
    );
  });
}
