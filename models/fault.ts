/** A model cannot be had or used, for a reason that the message tells in full. Shown without a stack. */
export class ModelFault extends Error {
  override readonly name: string = "ModelFault";
}

/** A card is wrong. One line a fault: `file:line:column: what was found (expected …)`. */
export class CardFault extends ModelFault {
  override readonly name = "CardFault";
}
