/** `mcp`: graphs on this machine and a running service as tools of the Model Context Protocol, over stdio. */
import { type Command, EXIT, expectPositionals, UsageFault } from "../command.ts";
import { GRAPH_TOOLS } from "../mcp/graph-tools.ts";
import { serveTools } from "../mcp/serve-tools.ts";
import { loadDocument, makeServiceTools, type Service } from "../mcp/service-tools.ts";
import type { Tool } from "../mcp/tool.ts";

const KEY = "WINDHOVER_API_KEY";

export default {
  name: "mcp",
  about: "Serve graphs and a running service as tools for language models (MCP, over stdio).",
  usage: "[option…]",
  options: {
    url: {
      type: "string",
      value: "URL",
      about: `Add tools for the service at this URL. The API key is read from the environment variable ${KEY}.`,
    },
    tags: {
      type: "string",
      value: "NAMES",
      about:
        "Groups of operations of the service that are tools, separated by commas, or all; default: all but keys, media server, map and operations.",
    },
    "read-only": { type: "boolean", about: "Only tools that change nothing: no run, and of the service only GET." },
  },
  notes: [
    "The tools check, explain, run and describe work on graphs and elements of this machine, as the commands of these names do (describe: inspect). Each call has a time limit, run also one of frames.",
    `MCP clients start the command themselves. In their configuration, with the folder of Windhover as cwd: {"mcpServers": {"windhover": {"command": "npx", "args": ["windhover", "mcp", "--url", "http://127.0.0.1:8080"], "cwd": "/opt/windhover", "env": {"${KEY}": "wh_…"}}}}`,
    "Use a key with the scope read for a model that must not change anything: the service enforces it.",
  ].join("\n"),
  examples: [
    "mcp",
    "mcp --url http://127.0.0.1:8080",
    "mcp --url http://127.0.0.1:8080 --tags Process,Sources --read-only",
  ],
  async run(given, terminal) {
    expectPositionals(given, 0, 0, "no arguments");
    const service = readService(given.text("url"));
    if (service === null && given.text("tags") !== undefined) throw new UsageFault("--tags needs --url");
    const offered: readonly Tool[] = [
      ...GRAPH_TOOLS,
      ...(service === null ? [] : makeServiceTools(await loadDocument(service), service, given.text("tags"))),
    ];
    const tools = offered.filter(({ isReadOnly }) => isReadOnly || !given.flag("read-only"));
    terminal.say(`serving ${tools.length} tools${service === null ? "" : `, with the service at ${service.url}`}`);
    if (service !== null && service.key === undefined)
      terminal.say(`warning: ${KEY} is not set; the service rejects most calls without a key`);
    await serveTools(tools);
    return EXIT.ok;
  },
} satisfies Command;

function readService(text: string | undefined): Service | null {
  if (text === undefined) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageFault("--url is not a URL like http://127.0.0.1:8080");
  if (url.username !== "" || url.password !== "" || url.search !== "")
    throw new UsageFault(`--url has credentials or a query; put the API key into the environment variable ${KEY}`);
  return { url: url.href.replace(/(?<!\/)\/+$/, ""), key: process.env[KEY] };
}
