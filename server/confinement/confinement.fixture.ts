/** Confines children of tests as the service does. They may open what tests make: all that is temporary. */
import { tmpdir } from "node:os";
import { after } from "node:test";
import { cacheFolder } from "../../models/cache.ts";
import { makeConfig } from "../api/app.fixture.ts";
import { silentLog } from "../store/database.fixture.ts";
import { Confinement } from "./confinement.ts";

let opened: Promise<Confinement> | null = null;

/** One for all tests of a file. */
export function testConfinement(): Promise<Confinement> {
  if (opened !== null) return opened;
  opened = Confinement.open({ config: makeConfig(), log: silentLog, reads: [cacheFolder(), tmpdir()] });
  const confinement = opened;
  after(async () => {
    // Files that share a process each have their own.
    opened = null;
    (await confinement).close();
  });
  return confinement;
}
