/** What is wrong with the configuration: everything at once, each with its place. */
export interface ConfigFault {
  /** `windhover.yaml:3:9` or the name of a variable. */
  readonly where: string;
  readonly message: string;
}

export class ConfigFaults extends Error {
  override readonly name = "ConfigFaults";
  readonly faults: readonly ConfigFault[];

  constructor(faults: readonly ConfigFault[]) {
    const lines = faults.map(({ where, message }) => `${where}: ${message}`);
    super(`the configuration is not valid\n${lines.map((line) => `  ${line}`).join("\n")}`);
    this.faults = faults;
  }
}
