/** The baseline: bare Hono with a constant response. Argument: the file with the response. Prints its address. */
import { readFileSync } from "node:fs";
import { serve } from "@hono/node-server";
import { Hono } from "hono";

const body = readFileSync(process.argv[2] ?? "", "utf8");
const app = new Hono();
app.get("/sources", () => new Response(body, { headers: { "Content-Type": "application/json" } }));
serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) =>
  console.log(JSON.stringify({ event: "ready", url: `http://127.0.0.1:${port}` })),
);
