/** Why the service does not start, told in full by its message: something that whoever starts it can mend. */
export class StartFault extends Error {
  override readonly name = "StartFault";
}
