import type { Config } from "../../schemas/config.ts";
import { guardAddress } from "../net/guard.ts";

/** As `guardAddress`. Datagrams may go to a group of hosts; connections need a single one. */
export const guardTarget = (url: string, network: Config["network"]): Promise<readonly string[]> =>
  guardAddress(url, network, "/url", { allowsGroups: url.startsWith("udp:") });
