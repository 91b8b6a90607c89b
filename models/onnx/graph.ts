/** Builds an ONNX model in memory, node by node. Field numbers are those of onnx.proto. */

const ELEMENT_TYPES = { float32: 1, uint8: 2, int8: 3, int32: 6, int64: 7 } as const;
type ElementType = keyof typeof ELEMENT_TYPES;
export type Values = Float32Array | Uint8Array | Int8Array | Int32Array | BigInt64Array;
export type Attribute = number | string | readonly number[];

const IR_VERSION = 8;
const OPSET = 13;
const INTEGER_ATTRIBUTE = 2;
const TEXT_ATTRIBUTE = 3;
const INTEGERS_ATTRIBUTE = 7;

export class GraphBuilder {
  readonly #nodes: MessageWriter[] = [];
  readonly #constants = new Map<string, MessageWriter>();
  readonly #inputs: MessageWriter[] = [];
  readonly #outputs: MessageWriter[] = [];

  input(name: string, type: ElementType, shape: readonly number[]): string {
    this.#inputs.push(describeValue(name, type, shape));
    return name;
  }

  output(name: string, type: ElementType, shape: readonly number[]): void {
    this.#outputs.push(describeValue(name, type, shape));
  }

  /** One-dimensional without `shape`. A name that exists already refers to the existing constant; `values` is then ignored. */
  constant(name: string, values: Values, shape: readonly number[] = [values.length]): string {
    if (this.#constants.has(name)) return name;
    const count = shape.reduce((product, size) => product * size, 1);
    if (count !== values.length) {
      throw new RangeError(`constant ${name} [${shape}] needs ${count} values, received ${values.length}`);
    }
    const message = new MessageWriter();
    for (const size of shape) message.integer(1, size);
    message.integer(2, ELEMENT_TYPES[typeOf(values)]).text(8, name).bytes(9, littleEndianBytes(values));
    this.#constants.set(name, message);
    return name;
  }

  scalar(name: string, values: Values): string {
    return this.constant(name, values, []);
  }

  integers(name: string, values: readonly number[]): string {
    return this.constant(name, BigInt64Array.from(values, BigInt));
  }

  /** A node with one output, whose name it returns. An input named "" is left out. */
  node(
    operator: string,
    inputs: readonly string[],
    output: string,
    attributes: Readonly<Record<string, Attribute>> = {},
  ): string {
    this.nodeOfMany(operator, inputs, [output], attributes);
    return output;
  }

  nodeOfMany(
    operator: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: Readonly<Record<string, Attribute>> = {},
  ): void {
    const message = new MessageWriter();
    for (const input of inputs) message.text(1, input);
    for (const output of outputs) message.text(2, output);
    message.text(3, `${operator}:${outputs[0]}`).text(4, operator);
    for (const [name, value] of Object.entries(attributes)) message.message(5, describeAttribute(name, value));
    this.#nodes.push(message);
  }

  finish(name: string): Uint8Array {
    const graph = new MessageWriter();
    for (const node of this.#nodes) graph.message(1, node);
    graph.text(2, name);
    for (const constant of this.#constants.values()) graph.message(5, constant);
    for (const input of this.#inputs) graph.message(11, input);
    for (const output of this.#outputs) graph.message(12, output);
    const opset = new MessageWriter().text(1, "").integer(2, OPSET);
    return new MessageWriter().integer(1, IR_VERSION).text(2, "windhover").message(7, graph).message(8, opset).finish();
  }
}

function describeValue(name: string, type: ElementType, shape: readonly number[]): MessageWriter {
  const dimensions = new MessageWriter();
  for (const size of shape) dimensions.message(1, new MessageWriter().integer(1, size));
  const tensor = new MessageWriter().integer(1, ELEMENT_TYPES[type]).message(2, dimensions);
  return new MessageWriter().text(1, name).message(2, new MessageWriter().message(1, tensor));
}

function describeAttribute(name: string, value: Attribute): MessageWriter {
  const message = new MessageWriter().text(1, name);
  if (typeof value === "string") return message.text(4, value).integer(20, TEXT_ATTRIBUTE);
  if (typeof value === "number") return message.integer(3, value).integer(20, INTEGER_ATTRIBUTE);
  for (const item of value) message.integer(8, item);
  return message.integer(20, INTEGERS_ATTRIBUTE);
}

function typeOf(values: Values): ElementType {
  if (values instanceof Float32Array) return "float32";
  if (values instanceof Uint8Array) return "uint8";
  if (values instanceof Int8Array) return "int8";
  return values instanceof Int32Array ? "int32" : "int64";
}

/** ONNX stores raw data little-endian, which is also how x86-64 and ARM64 keep it in memory. */
const littleEndianBytes = (values: Values): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

const VARINT = 0;
const BYTES = 2;

/** A protobuf message with the wire types that an ONNX file needs. The same calls give the same bytes. */
export class MessageWriter {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  integer(field: number, value: number | bigint): this {
    return this.#key(field, VARINT).#varint(BigInt(value));
  }

  bytes(field: number, value: Uint8Array): this {
    return this.#key(field, BYTES).#varint(BigInt(value.length)).#append(value);
  }

  text(field: number, value: string): this {
    return this.bytes(field, new TextEncoder().encode(value));
  }

  message(field: number, value: MessageWriter): this {
    this.#key(field, BYTES).#varint(BigInt(value.#length));
    for (const part of value.#parts) this.#append(part);
    return this;
  }

  finish(): Uint8Array {
    const whole = new Uint8Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }

  #key(field: number, wireType: number): this {
    return this.#varint(BigInt((field << 3) | wireType));
  }

  #varint(value: bigint): this {
    // Negative numbers are written as 64-bit two's complement.
    let rest = BigInt.asUintN(64, value);
    const bytes: number[] = [];
    while (rest > 0x7fn) {
      bytes.push(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    bytes.push(Number(rest));
    return this.#append(Uint8Array.from(bytes));
  }

  #append(part: Uint8Array): this {
    this.#parts.push(part);
    this.#length += part.length;
    return this;
  }
}
