/** The baseline: a file server of Node with one file. Argument: the file. Prints its address. */
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const file = process.argv[2] ?? "";
const server = createServer((_, response) => {
  response.writeHead(200, { "Content-Type": "video/mp4", "Content-Length": statSync(file).size });
  createReadStream(file).pipe(response);
});
server.listen(0, "127.0.0.1", () =>
  console.log(JSON.stringify({ event: "ready", url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })),
);
