/** One datagram an event, to one host or to a multicast group. */
import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { isIPv6 } from "node:net";
import type { UdpTarget } from "../../schemas/cot-target.ts";
import type { Link, OpenLink } from "./outlet.ts";
import { explain } from "./reasons.ts";

/** `address`: the number to send to instead of looking up the host. */
export const openUdp =
  ({ host, port, ttl }: UdpTarget, address: string | null): OpenLink =>
  async (signal): Promise<Link> => {
    const number = address ?? (await findNumber(host));
    const socket = createSocket(isIPv6(number) ? "udp6" : "udp4");
    try {
      socket.bind(0);
      await once(socket, "listening", { signal });
      socket.setMulticastTTL(ttl);
    } catch (error) {
      socket.close();
      throw error;
    }
    let tellClosed = (_reason: string): void => {};
    const closed = new Promise<string>((resolve) => {
      tellClosed = resolve;
    });
    let isOpen = true;
    const end = (reason: string): void => {
      if (!isOpen) return;
      isOpen = false;
      socket.close(() => tellClosed(reason));
    };
    socket.on("error", (error) => end(explain(error, host)));
    signal.addEventListener("abort", () => end("it is not wanted any more"), { once: true });
    return {
      closed,
      send(event, done) {
        if (!isOpen) return;
        socket.send(event, port, number, (error) => done(error === null ? null : new Error(explain(error, host))));
      },
      async close() {
        end("it is not wanted any more");
        await closed;
      },
    };
  };

async function findNumber(host: string): Promise<string> {
  try {
    return (await lookup(host)).address;
  } catch {
    throw new Error(`no host of the name ${host} can be found`);
  }
}
