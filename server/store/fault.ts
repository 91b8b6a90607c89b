/** The database cannot be had, for a reason that the message tells in full: to be shown without a stack. */
export class DatabaseFault extends Error {
  override readonly name = "DatabaseFault";
}
