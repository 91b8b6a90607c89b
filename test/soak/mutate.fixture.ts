/** Random mutations of recorded bytes. */
import fc from "fast-check";

/** A position: a fraction of the whole, or an offset from `start`. */
type Place = { readonly share: number } | { readonly bytes: number };

type Mutation =
  | { readonly kind: "flip"; readonly at: Place; readonly value: number }
  | { readonly kind: "number"; readonly at: Place; readonly value: number; readonly size: number }
  | { readonly kind: "cut" | "repeat"; readonly at: Place; readonly length: number }
  | { readonly kind: "insert"; readonly at: Place; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly at: Place };

/** Most of a session is video data: two thirds of the mutations are in the first bytes. */
const place = (headBytes: number): fc.Arbitrary<Place> =>
  fc.oneof(
    fc.record({ share: fc.double({ min: 0, max: 1, noNaN: true }) }),
    fc.record({ bytes: fc.nat(headBytes) }),
    fc.record({ bytes: fc.nat(headBytes) }),
  );

const NUMBERS = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0xff_ffff, 0x7fff_ffff, 0xffff_ffff];

export function mutations(headBytes: number): fc.Arbitrary<Mutation[]> {
  const at = place(headBytes);
  const value = fc.constantFrom(...NUMBERS);
  const mutation: fc.Arbitrary<Mutation> = fc.oneof(
    fc.record({ kind: fc.constant("flip" as const), at, value: fc.integer({ min: 1, max: 255 }) }),
    fc.record({ kind: fc.constant("number" as const), at, value, size: fc.integer({ min: 1, max: 4 }) }),
    fc.record({
      kind: fc.constantFrom("cut" as const, "repeat" as const),
      at,
      length: fc.integer({ min: 1, max: 600 }),
    }),
    fc.record({ kind: fc.constant("insert" as const), at, bytes: fc.uint8Array({ minLength: 1, maxLength: 200 }) }),
    fc.record({ kind: fc.constant("end" as const), at }),
  );
  return fc.array(mutation, { minLength: 0, maxLength: 5 });
}

/** `start`: base of byte offsets. */
export function mutate(session: Buffer, changes: readonly Mutation[], start: number): Buffer {
  return changes.reduce((bytes, change) => apply(bytes, change, start), session);
}

function apply(bytes: Buffer, change: Mutation, start: number): Buffer {
  const { at } = change;
  const offset = Math.min("share" in at ? Math.floor(at.share * bytes.length) : start + at.bytes, bytes.length);
  const [before, rest] = [bytes.subarray(0, offset), bytes.subarray(offset)];
  switch (change.kind) {
    case "flip":
      return Buffer.concat([before, Buffer.of((rest[0] ?? 0) ^ change.value), rest.subarray(1)]);
    case "number": {
      const number = Buffer.alloc(4);
      number.writeUInt32BE(change.value);
      return Buffer.concat([before, number.subarray(4 - change.size), rest.subarray(change.size)]);
    }
    case "cut":
      return Buffer.concat([before, rest.subarray(change.length)]);
    case "repeat":
      return Buffer.concat([before, rest.subarray(0, change.length), rest]);
    case "insert":
      return Buffer.concat([before, change.bytes, rest]);
    case "end":
      return before;
  }
}
