/** The beginning of the thread that compiles: a thread of its own has to be taught to read TypeScript, too. */
import { register } from "tsx/esm/api";

register();
await import("./worker.ts");
