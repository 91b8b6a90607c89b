import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { DatabaseFault } from "./fault.ts";

const run = promisify(execFile);

/** Who the private PostgreSQL runs as: it refuses to be root. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
  /**
   * The command line that runs a program as this account. The kernel sends it SIGINT when the thread that started it
   * dies, however it dies: for PostgreSQL an orderly shutdown.
   */
  command(program: string, ...args: readonly string[]): readonly [program: string, args: readonly string[]];
  /** Whether the account may go into a folder. */
  mayEnter(folder: string): Promise<boolean>;
}

export async function findAccount(): Promise<Account> {
  const isRoot = process.getuid?.() === 0;
  const { uid, gid } = isRoot
    ? await findPostgresUser()
    : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const become = isRoot ? [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"] : [];
  const command = (program: string, ...args: readonly string[]) =>
    ["setpriv", [...become, "--pdeathsig", "INT", program, ...args]] as const;
  await tryCommand(command("true"), uid);
  return {
    uid,
    gid,
    command,
    mayEnter: async (folder) => {
      const [program, args] = command("test", "-x", folder);
      return run(program, [...args]).then(
        () => true,
        () => false,
      );
    },
  };
}

async function tryCommand([program, args]: ReturnType<Account["command"]>, uid: number): Promise<void> {
  try {
    await run(program, [...args]);
  } catch (cause) {
    const { stderr = "", message } = cause as Error & { stderr?: string };
    throw new DatabaseFault(
      `PostgreSQL cannot be run as uid ${uid}: ${stderr.trim() || message}. It takes \`setpriv\` of util-linux, and as ` +
        "root the right to become another user; or name a database by DATABASE_URL.",
      { cause },
    );
  }
}

/** Nothing of ours is passed on: neither secrets nor PG… variables, which would change what it does. */
export const programEnvironment = (): NodeJS.ProcessEnv => ({ PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC" });

async function findPostgresUser(): Promise<{ uid: number; gid: number }> {
  try {
    const [uid, gid] = await Promise.all(
      ["-u", "-g"].map(async (option) => (await run("id", [option, "postgres"])).stdout),
    );
    return { uid: Number(uid), gid: Number(gid) };
  } catch (cause) {
    throw new DatabaseFault(
      "PostgreSQL refuses to run as root, and there is no user `postgres` to run it as. Install postgresql-15, " +
        "which makes that user, or start Windhover as another user, or name a database by DATABASE_URL.",
      { cause },
    );
  }
}
