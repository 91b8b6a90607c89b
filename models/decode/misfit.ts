/** A model and its card do not belong together. The message says what was met and what was expected. */
export class ModelMisfit extends Error {
  override readonly name = "ModelMisfit";
}
