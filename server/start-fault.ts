/** Why the service does not start, completely in its message: something that its operator can fix. */
export class StartFault extends Error {
  override readonly name = "StartFault";
}
