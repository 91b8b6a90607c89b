/** The MCP server over standard input and output. */
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { didYouMean } from "../../schemas/suggest.ts";
import { readVersion } from "../version.ts";
import { ArgumentCheck, failure, type Tool, type ToolResult } from "./tool.ts";

/** Resolves when the client has closed standard input. */
export async function serveTools(tools: readonly Tool[]): Promise<void> {
  const version = readVersion();
  const check = new ArgumentCheck();
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const call = async (
    name: string,
    input: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<ToolResult> => {
    const tool = byName.get(name);
    if (tool === undefined) return failure(`Unknown tool "${name}"${didYouMean(name, byName.keys()) || "."}`);
    const fault = check.check(tool, input);
    return fault === null ? tool.call(input, signal) : failure(fault);
  };
  const listed = tools.map(({ name, description, inputSchema, isReadOnly, isDestructive = false }) => ({
    ...{ name, description, inputSchema },
    annotations: { readOnlyHint: isReadOnly, destructiveHint: isDestructive },
  }));
  const ended = new Promise<void>((resolve) => process.stdin.once("close", resolve).once("end", resolve));
  const serving = serveStdio(() => {
    const server = new Server({ name: "windhover", version }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", () => ({ tools: listed }));
    server.setRequestHandler(
      "tools/call",
      async ({ params: { name, arguments: input = {} } }, { mcpReq: { signal } }) => {
        const { text, isError } = await call(name, input, signal);
        return { content: [{ type: "text" as const, text }], isError };
      },
    );
    return server;
  });
  await ended;
  await serving.close();
}
