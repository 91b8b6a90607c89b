/** One datagram an event, to one host or to a multicast group. */

import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect, isIPv6, type Socket } from "node:net";
import { MqttClient } from "mqtt";
import type { MqttTarget, UdpTarget } from "../../schemas/cot-target.ts";
import type { Link, OpenLink } from "./outlet.ts";

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

/** Events to a topic of a broker, MQTT 3.1.1 or 5. */
const KEEPALIVE_SECONDS = 15;
const CONNECT_MS = 10_000;
/** "Unacceptable protocol version" in 3.1.1 and in 5. */
const VERSION_CODES = [1, 132];
/** All that a broker has to say to somebody who reads no topic: confirmations, and that it is still there. */
const ANSWERS = { atFirstBytes: 65_536, anEventBytes: 64, aSecondBytes: 64 };

/** `address`: the number to connect to instead of looking up the host. */
export function openMqtt(target: MqttTarget, address: string | null): OpenLink {
  // The older one first: brokers that know only the newer are rarer.
  let version: 4 | 5 = 4;
  return (signal) => {
    let socket: Socket | null = null;
    const open = (): Socket => {
      socket = connect({ host: address ?? target.host, port: target.port, noDelay: true, autoSelectFamily: true });
      return socket;
    };
    const client = new MqttClient(open, describeClient(target, version));
    let reason: string | null = null;
    let isGreeted = false;
    client.once("connect", () => {
      isGreeted = true;
    });
    const end = (): void => void client.end(true);
    // Of somebody who is being left politely, `end` takes no more orders.
    const drop = (): void => {
      end();
      socket?.destroy();
    };
    signal.addEventListener("abort", drop, { once: true });
    client.on("error", (error) => {
      if (VERSION_CODES.includes(Number((error as { code?: unknown }).code))) version = version === 4 ? 5 : 4;
      reason ??= explain(error, target.host);
    });
    const closed = new Promise<string>((resolve) => {
      client.once("close", () => {
        signal.removeEventListener("abort", drop);
        end();
        // Some close without a word when they do not know a version.
        if (!isGreeted && reason === null && !signal.aborted) version = version === 4 ? 5 : 4;
        resolve(reason ?? `${target.host}: the broker closed the connection`);
      });
    });
    return new Promise<Link>((resolve, reject) => {
      void closed.then((why) => reject(new Error(why)));
      client.once("connect", () => resolve(makeLink(client, socket, target, closed)));
    });
  };
}

function makeLink(client: MqttClient, socket: Socket | null, target: MqttTarget, closed: Promise<string>): Link {
  const { topic, qos, host } = target;
  const openedMs = performance.now();
  let events = 0;
  socket?.on("data", () => {
    const { atFirstBytes, anEventBytes, aSecondBytes } = ANSWERS;
    const most = atFirstBytes + events * anEventBytes + ((performance.now() - openedMs) / 1000) * aSecondBytes;
    if (socket.bytesRead <= most) return;
    socket.destroy(Object.assign(new Error("it sends more than a broker answers"), { code: "EPROTO" }));
  });
  return {
    closed,
    send(event, done) {
      events++;
      client.publish(topic, event, { qos }, (error) => {
        // What is lost with the connection is told of by its end.
        if (error === undefined || error === null) done(null);
        else if (client.connected) done(new Error(explain(error, host)));
      });
    },
    async close() {
      client.end(false);
      await closed;
    },
  };
}

/** A new object for each client: it writes into it. */
const describeClient = ({ username, password }: MqttTarget, protocolVersion: 4 | 5) => ({
  protocolVersion,
  clientId: `windhover-${randomBytes(8).toString("hex")}`,
  clean: true,
  ...(username !== undefined && { username }),
  ...(password !== undefined && { password }),
  keepalive: KEEPALIVE_SECONDS,
  connectTimeout: CONNECT_MS,
  // Ours to do, with longer and longer waits.
  reconnectPeriod: 0,
  resubscribe: false,
  queueQoSZero: false,
});

/** Why a way is closed, in words; numbers are those of brokers, in MQTT 3.1.1 and in 5. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ECONNRESET: "the connection was closed there",
  EHOSTUNREACH: "there is no way to this host",
  ENETUNREACH: "there is no way to this network",
  ETIMEDOUT: "it does not answer",
  EACCES: "this machine may not send there",
  EPERM: "this machine may not send there",
  ENOTFOUND: "no host of this name can be found",
  EAI_AGAIN: "no host of this name can be found now",
  1: "it does not know our version of MQTT",
  4: "it does not take this username and password",
  5: "it does not let this user in",
  132: "it does not know our version of MQTT",
  134: "it does not take this username and password",
  135: "it does not let this user in",
};

export function explain(error: Error, host: string): string {
  const { code, errors } = error as { code?: unknown; errors?: readonly { code?: unknown }[] };
  const known = REASONS[String(code)] ?? REASONS[String(errors?.[0]?.code)];
  const said = error.message === "connack timeout" ? "it does not answer" : error.message;
  return `${host}: ${known ?? said}`;
}
