import type { Config } from "../../../schemas/config.ts";
import { Keyring } from "./keyring.ts";

const KEY = "5ea1".repeat(16);

/** For `secrets` of a configuration: a test reads what its services have sealed, and the other way round. */
export const TEST_SECRETS: Config["secrets"] = { key: KEY, key_file: null };

export const testKeyring = new Keyring([Buffer.from(KEY, "hex")]);
