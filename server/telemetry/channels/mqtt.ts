/**
 * Telemetry from a topic of a broker, MQTT 3.1.1 or 5, plain (`mqtt://`): brokers with TLS are not reached by this
 * channel. A broker that is away is tried again until the process ends; nothing else waits for it.
 */

import { backoff, sleep } from "../../async/timing.ts";
import type { ProtocolVersion } from "../../mqtt/broker-client.ts";
import { brokerUrl } from "../../sources/telemetry-cfg.ts";
import type { ChannelNeeds, TelemetryChannel } from "../channel.ts";
import { type Broker, stayConnected } from "./broker-connection.ts";

export function openMqtt(needs: ChannelNeeds): TelemetryChannel {
  const broker = readBroker(needs.parameters);
  const closing = new AbortController();
  needs.tell(`${broker.url}: it is being connected to`);
  void keepConnected(broker, needs, closing.signal);
  return {
    advice: `${broker.url} is connected, and nothing has come on the topic ${broker.topic} yet; see that it is published there`,
    close: () => closing.abort(),
  };
}

async function keepConnected(broker: Broker, needs: ChannelNeeds, signal: AbortSignal): Promise<void> {
  const { config, take, refuse, tell } = needs;
  const { message_bytes, retry_first_seconds, retry_most_seconds } = config.telemetry;
  const rule = { firstMs: retry_first_seconds * 1000, maxMs: retry_most_seconds * 1000 };
  // The older one first: brokers that know only the newer are rarer.
  let version: ProtocolVersion = 4;
  for (let attempt = 1; !signal.aborted; attempt++) {
    let openedMs = Number.POSITIVE_INFINITY;
    const { reason, isOfVersion } = await stayConnected(broker, {
      ...{ config, version, signal },
      onMessage: (payload, isKept) => take({ payload, isKept }),
      onTooLarge: (bytes) => refuse(`it has ${bytes} bytes, and at most ${message_bytes} are read`),
      onOpen: () => {
        openedMs = performance.now();
        tell(null);
      },
    });
    if (signal.aborted) return;
    tell(`${reason}; it is tried again`);
    if (isOfVersion) version = version === 4 ? 5 : 4;
    // One that lets us in and out again at once is as good as away.
    if (performance.now() - openedMs > rule.maxMs) attempt = 1;
    await sleep(backoff(attempt, rule), signal);
  }
}

function readBroker(parameters: ChannelNeeds["parameters"]): Broker {
  const { ip, port, topic, username, password } = parameters;
  return {
    url: brokerUrl({ type: "mqtt", format: "native", parameters }) ?? "",
    host: String(ip),
    port: Number(port),
    topic: String(topic),
    username: username === undefined ? undefined : String(username),
    password: password === undefined ? undefined : String(password),
  };
}
