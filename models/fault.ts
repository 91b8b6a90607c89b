/** A model is missing or unusable. The message is complete and is shown without a stack. */
export class ModelFault extends Error {
  override readonly name: string = "ModelFault";
}

/** A card is wrong. One line per fault: `file:line:column: what was found (expected …)`. */
export class CardFault extends ModelFault {
  override readonly name = "CardFault";
}

/** The model is known and has not been fetched yet. */
export class NotInstalled extends ModelFault {
  override readonly name = "NotInstalled";
}

/** The cache folder cannot be written. Another source of the same bytes would fail as well. */
export class StorageFault extends ModelFault {
  override readonly name = "StorageFault";
}

/** A model and its card do not match. The message states what was expected and what was found. */
export class ModelMisfit extends Error {
  override readonly name = "ModelMisfit";
}
