/** Confines children of tests as the service does. They may open what tests make: all that is temporary. */
import { tmpdir } from "node:os";
import { cacheFolder } from "../../models/cache.ts";
import { makeConfig } from "../api/app.fixture.ts";
import { silentLog } from "../store/database.fixture.ts";
import { Confinement } from "./confinement.ts";

let opened: Promise<Confinement> | null = null;

/** One for all tests of a process: its guard ends with the process. */
export function testConfinement(): Promise<Confinement> {
  opened ??= Confinement.open({ config: makeConfig(), log: silentLog, reads: [cacheFolder(), tmpdir()] });
  return opened;
}
