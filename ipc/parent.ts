/** The child's end: how a program that the server starts as a process of its own connects to it. */
import { Type } from "typebox";
import { Channel, type ChannelOptions, type Message, processPort } from "./channel.ts";
import { freeStartMemory } from "./start-memory.ts";

/** The first message of every child: it is loaded, and which version of the messages it was built for. */
export const Hello = Type.Object({ type: Type.Literal("hello"), protocol: Type.Integer() });

export function sayHello(protocol: number): void {
  process.send?.({ type: "hello", protocol });
  freeStartMemory();
}

interface ParentOptions<Out extends Message, In extends Message>
  extends Omit<ChannelOptions<Out, In>, "peer" | "onInvalid"> {
  /** `the media hub of Windhover: \`windhover serve\` starts it`. */
  readonly program: string;
  /** The parent has gone. The process is killed if this takes longer than `orphanMs`. */
  onOrphan?(): unknown;
  readonly orphanMs?: number;
  onInvalid?(fault: string): void;
}

const ORPHAN_MS = 3_000;
/** What the parent has not read by then it never will. */
const FLUSH_MS = 1_000;

/** Exits where there is no parent. Signals are ignored: the server ends its children, in order. */
export function connectToParent<Out extends Message, In extends Message>(
  options: ParentOptions<Out, In>,
): Channel<Out, In> {
  const { program, orphanMs = ORPHAN_MS, onOrphan = () => process.kill(process.pid, "SIGKILL") } = options;
  if (process.send === undefined) {
    process.stderr.write(`this is ${program}\n`);
    process.exit(2);
  }
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  process.once("disconnect", () => {
    setTimeout(() => process.kill(process.pid, "SIGKILL"), orphanMs).unref();
    onOrphan();
  });
  const onInvalid = (fault: string): never => {
    throw new Error(`the server sent an invalid message: ${fault}`);
  };
  return new Channel(processPort(process), { onInvalid, ...options, peer: "the server" });
}

/** Exits when everything was written, or after a second. */
export async function exitWhenWritten(channel: { idle(): Promise<void> }, code: number): Promise<never> {
  setTimeout(() => process.exit(code), FLUSH_MS);
  await channel.idle();
  process.exit(code);
}
