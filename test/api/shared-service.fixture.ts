/**
 * One service for the test files of a process that need no settings of their own: to start one takes several seconds of
 * processor time. Each file has an account of its own, and may end processes of the machine only while it runs.
 */
import { after } from "node:test";
import { createKey, type ServiceClient, TestService } from "./service.fixture.ts";

/** The children of the service must not get it. */
export const SECRETS_KEY = "5ec2".repeat(16);
/** The next file of this process may need it. */
const LINGER_MS = 5_000;

const shared = { users: 0, service: null as Promise<TestService> | null };

async function closeUnused(): Promise<void> {
  const { service, users } = shared;
  if (service === null || users > 0) return;
  shared.service = null;
  await (await service.catch(() => null))?.close();
}

/**
 * Requests have the key of a new account of this name, created with these options of `windhover keys create`; of the account
 * `master`, the first key, which the service has anyway. Call it at the top level of a file: the processes of the account end
 * after its last test.
 */
export async function shareService(account: string, ...rights: readonly string[]): Promise<ServiceClient> {
  shared.users += 1;
  let release = async (): Promise<void> => {};
  after(async () => {
    await release().finally(() => {
      shared.users -= 1;
      setTimeout(closeUnused, LINGER_MS);
    });
  });
  shared.service ??= TestService.start({ env: { WINDHOVER_SECRETS_KEY: SECRETS_KEY } });
  const service = await shared.service;
  const client = account === "master" ? service : service.as(await createKey(service, account, ...rights));
  release = async () => void (await client.send("DELETE", "/processes", {}));
  return client;
}
