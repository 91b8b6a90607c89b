/** Sums that do not overflow, on x86-64. */
export type SessionExtra = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * x86-64 without VNNI adds products of bytes up in 16 bits, which overflow: confidences of an int8 model come out up to
 * 12 points lower than on any other machine. With this, onnxruntime takes kernels that do not, on those processors only.
 */
const WITHOUT_OVERFLOW: SessionExtra = { session: { x64quantprecision: "1" } };

/**
 * To take them, onnxruntime gives weights another type and a new name, and refuses where it has given that name before:
 * models made elsewhere may have weights that several nodes share.
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
      "onnxruntime cannot keep the sums of this int8 model from overflowing, because nodes of it share weights: on a processor without VNNI confidences come out lower than elsewhere; export the model without shared weights",
    );
    return session;
  }
}
