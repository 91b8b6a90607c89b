import type { Compiled } from "../../graphs/compiler/compile.ts";
import type { TextOf } from "../show-faults.ts";

/** Where the graph comes from; compiled again when a file of it was saved. */
export interface GraphOrigin {
  /** Throws `GraphFaults` for what cannot be read. */
  compile(): Compiled;
  readonly textOf: TextOf;
  files(): readonly string[];
  /** Where lines of the graph go; default standard output. */
  print?(line: string): Promise<void>;
}
