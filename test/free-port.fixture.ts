import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";

const FIRST = 10_000;
const RANGE = "/proc/sys/net/ipv4/ip_local_port_range";

/**
 * A port for a server that is started later, or again. Not one that the system gives to connections: between two starts of
 * the server another test could get it.
 */
export async function findFreePort(): Promise<number> {
  const beyond = Number(readFileSync(RANGE, "utf8").split(/\s+/)[0]);
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (beyond - FIRST));
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}
