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
