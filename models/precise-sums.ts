/** Sums that do not overflow, for int8 models that were not converted here. */
export type SessionExtra = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * For CPUs whose kernels saturate (see int8-kernels.ts): without it confidences of an int8 model come out up to 12 points
 * too low. onnxruntime obeys on every x86-64 with AVX2, also with VNNI, where it only takes two to three times as long.
 */
const WITHOUT_OVERFLOW: SessionExtra = { session: { x64quantprecision: "1" } };

/**
 * To use kernels that do not overflow, onnxruntime gives weights another type and a new name, and fails where that name
 * exists: models made elsewhere may have weights that several nodes share.
 */
const SHARED_WEIGHTS = /_s8_2_u8|Initializer with same name exists/;

/** `create` opens a model. It is called again without the precise kernels, with a warning, where these cannot be had. */
export async function createPrecisely<S>(
  create: (extra?: SessionExtra) => Promise<S>,
  warn: (warning: string) => void,
): Promise<S> {
  try {
    return await create(WITHOUT_OVERFLOW);
  } catch (error) {
    if (!SHARED_WEIGHTS.test((error as Error).message)) throw error;
    const session = await create();
    warn(
      "onnxruntime cannot keep the sums of this int8 model from overflowing, because nodes of it share weights: on this CPU, which has no VNNI, confidences come out lower than elsewhere; export the model without shared weights",
    );
    return session;
  }
}
