import { CardFault, ModelFault, ModelMisfit } from "../../models/fault.ts";
import { CommandFailure, UsageFault } from "../command.ts";

/** Runs `work`; what it has against a card or a model is told without a stack. A bad card is a bad command line. */
export async function telling<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CardFault) throw new UsageFault(error.message, { cause: error });
    if (error instanceof ModelFault || error instanceof ModelMisfit)
      throw new CommandFailure(error.message, { cause: error });
    throw error;
  }
}
