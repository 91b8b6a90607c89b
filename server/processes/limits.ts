import type { Config } from "../../schemas/config.ts";
import type { ProcessLimits } from "./process-parts.ts";

/** Of the configuration, in milliseconds. */
export function limitsOf({ runners, reconnect, database }: Config): ProcessLimits {
  return {
    startMs: runners.start_seconds * 1000,
    loadMs: runners.load_seconds * 1000,
    stopMs: runners.stop_seconds * 1000,
    replyMs: runners.reply_seconds * 1000,
    silentMs: runners.silent_seconds * 1000,
    saveMs: database.statement_seconds * 1000,
    giveUpMs: reconnect.give_up_seconds * 1000,
    lookupMs: reconnect.lookup_seconds * 1000,
    restart: {
      restarts: runners.restarts,
      windowMs: runners.restart_window_seconds * 1000,
      firstMs: runners.restart_first_seconds * 1000,
      maxMs: runners.restart_most_seconds * 1000,
    },
  };
}
