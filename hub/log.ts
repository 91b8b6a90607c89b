/** Goes to the server, which masks and prints it. */
export type Log = (
  level: "debug" | "info" | "warn" | "error",
  message: string,
  fields?: Record<string, unknown>,
) => void;
