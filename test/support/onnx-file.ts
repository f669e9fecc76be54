/** Writes ONNX files, with the few kinds of field that a graph needs. https://onnx.ai/onnx/repo-docs/IR.html */

const VARINT = 0
const LENGTH = 2
const FIXED32 = 5

/** A protobuf message being built. */
export class Message {
  readonly parts: Uint8Array[] = []
  size = 0

  int(field: number, value: number): this {
    return this.#add(varint(field * 8 + VARINT)).#add(varint(value))
  }

  float(field: number, value: number): this {
    return this.#add(varint(field * 8 + FIXED32)).#add(new Uint8Array(new Float32Array([value]).buffer))
  }

  bytes(field: number, value: Uint8Array): this {
    return this.#add(varint(field * 8 + LENGTH))
      .#add(varint(value.length))
      .#add(value)
  }

  text(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value))
  }

  message(field: number, value: Message): this {
    this.#add(varint(field * 8 + LENGTH)).#add(varint(value.size))
    for (const part of value.parts) this.#add(part)
    return this
  }

  #add(part: Uint8Array): this {
    this.parts.push(part)
    this.size += part.length
    return this
  }
}

function varint(value: number): Uint8Array {
  const bytes: number[] = []
  // Negative numbers take ten bytes, as 64-bit numbers.
  let rest = BigInt.asUintN(64, BigInt(value))
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
  return Uint8Array.from([...bytes, Number(rest)])
}

export const ELEMENT = { float: 1, int8: 3, int64: 7 } as const

export type Attribute =
  | { readonly int: number }
  | { readonly float: number }
  | { readonly ints: readonly number[] }

/** A graph: constants, and operations that give names to their results. */
export class Graph {
  readonly #message = new Message()
  #count = 0

  floats(name: string, shape: readonly number[], data: Float32Array): string {
    return this.#constant(name, shape, ELEMENT.float, data)
  }

  bytes(name: string, shape: readonly number[], data: Int8Array): string {
    return this.#constant(name, shape, ELEMENT.int8, data)
  }

  integers(name: string, values: readonly number[], shape: readonly number[] = [values.length]): string {
    return this.#constant(name, shape, ELEMENT.int64, BigInt64Array.from(values.map(BigInt)))
  }

  number(name: string, value: number): string {
    return this.floats(name, [], Float32Array.of(value))
  }

  /** An operation with one result. */
  op(type: string, inputs: readonly string[], attributes: Readonly<Record<string, Attribute>> = {}): string {
    return this.ops(type, inputs, 1, attributes)[0]!
  }

  ops(
    type: string,
    inputs: readonly string[],
    outputs: number,
    attributes: Readonly<Record<string, Attribute>> = {},
  ): string[] {
    const name = `${type}${this.#count++}`
    return this.#node(
      type,
      inputs,
      Array.from({ length: outputs }, (_, n) => `${name}.${n}`),
      attributes,
    )
  }

  /** The finished model. */
  model(inputs: readonly string[], result: string, shape: readonly (string | number)[]): Message {
    this.#node("Identity", [result], ["last_hidden_state"], {})
    this.#message.text(2, "test")
    for (const input of inputs) this.#message.message(11, value(input, ELEMENT.int64, ["batch", "sequence"]))
    this.#message.message(12, value("last_hidden_state", ELEMENT.float, shape))
    const operators = new Message().text(1, "").int(2, 17)
    return new Message().int(1, 8).text(2, "ctxbridge tests").message(7, this.#message).message(8, operators)
  }

  #node(
    type: string,
    inputs: readonly string[],
    outputs: string[],
    attributes: Readonly<Record<string, Attribute>>,
  ): string[] {
    const node = new Message()
    for (const input of inputs) node.text(1, input)
    for (const output of outputs) node.text(2, output)
    node.text(4, type)
    for (const [name, attribute] of Object.entries(attributes)) node.message(5, attributeOf(name, attribute))
    this.#message.message(1, node)
    return outputs
  }

  #constant(name: string, shape: readonly number[], type: number, data: NodeJS.TypedArray): string {
    const tensor = new Message()
    for (const size of shape) tensor.int(1, size)
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    this.#message.message(5, tensor.int(2, type).text(8, name).bytes(9, bytes))
    return name
  }
}

function attributeOf(name: string, attribute: Attribute): Message {
  const message = new Message().text(1, name)
  if ("float" in attribute) return message.float(2, attribute.float).int(20, 1)
  if ("int" in attribute) return message.int(3, attribute.int).int(20, 2)
  for (const one of attribute.ints) message.int(8, one)
  return message.int(20, 7)
}

function value(name: string, type: number, shape: readonly (string | number)[]): Message {
  const sizes = new Message()
  for (const size of shape) {
    sizes.message(1, typeof size === "string" ? new Message().text(2, size) : new Message().int(1, size))
  }
  const tensor = new Message().int(1, type).message(2, sizes)
  return new Message().text(1, name).message(2, new Message().message(1, tensor))
}
