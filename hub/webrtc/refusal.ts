/** Why a viewer is not let in; `status` is what HTTP says for it. */
export class WhepRefusal extends Error {
  readonly status: 400 | 406 | 409 | 503;
  constructor(status: WhepRefusal["status"], message: string) {
    super(message);
    this.status = status;
  }
}
