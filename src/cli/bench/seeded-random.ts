/** Seeded random numbers. Uses only +, −, ×, ÷ and floor: the last bit of `Math.log` differs between C libraries. */

/** [share, value] pairs, from [0, …] to [1, …], by ascending share. */
type Quantiles = readonly (readonly [share: number, value: number])[]

/** Parses `"0 6, 0.5 135, 1 30000"`, which means that half of all samples are at most 135. */
export function quantiles(table: string): Quantiles {
  return table.split(",").map((pair) => {
    const [share, value] = pair.trim().split(" ").map(Number)
    return [share!, value!] as const
  })
}

/** sfc32: small, fast, exact in 32-bit integer arithmetic. */
export class Dice {
  #a: number
  #b: number
  #c: number
  #count = 1

  constructor(seed: number) {
    this.#a = 0x9e3779b9
    this.#b = seed | 0
    this.#c = Math.floor(seed / 0x1_0000_0000) | 0
    for (let i = 0; i < 16; i++) this.#uint32()
  }

  #uint32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#count) | 0
    this.#count = (this.#count + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return sum >>> 0
  }

  /** In [0, 1). */
  unit(): number {
    return this.#uint32() / 0x1_0000_0000
  }

  chance(probability: number): boolean {
    return this.unit() < probability
  }

  /** An integer in [from, to]. */
  between(from: number, to: number): number {
    return from + Math.floor(this.unit() * (to - from + 1))
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.unit() * from.length)] as T
  }

  /** 0 to count − 1, each once, in random order. */
  shuffled(count: number): number[] {
    const order = Array.from({ length: count }, (_, i) => i)
    for (let i = count - 1; i > 0; i--) {
      const j = this.between(0, i)
      const kept = order[i]!
      order[i] = order[j]!
      order[j] = kept
    }
    return order
  }

  /** Picks early entries far more often than late ones, as with words in a text. */
  skewed<T>(from: readonly T[]): T {
    const u = this.unit()
    return from[Math.floor(u * u * u * from.length)] as T
  }

  /** A sample from the distribution with these quantiles, interpolated linearly. */
  sample(quantiles: Quantiles): number {
    const u = this.unit()
    for (let i = 1; i < quantiles.length; i++) {
      const [share, value] = quantiles[i]!
      if (u > share && i < quantiles.length - 1) continue
      const [shareBefore, valueBefore] = quantiles[i - 1]!
      return Math.floor(valueBefore + ((u - shareBefore) / (share - shareBefore)) * (value - valueBefore))
    }
    return 0
  }

  #digits(alphabet: string, count: number): string {
    let text = ""
    for (let i = 0; i < count; i++) text += alphabet[this.#uint32() % alphabet.length]
    return text
  }

  hex(count: number): string {
    return this.#digits("0123456789abcdef", count)
  }

  /** An id as the API writes them. */
  id(prefix: string): string {
    return `${prefix}_01${this.#digits("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 22)}`
  }

  uuid(): string {
    const h = this.hex(30)
    return `${h.slice(0, 8)}-${h.slice(8, 12)}-4${h.slice(12, 15)}-a${h.slice(15, 18)}-${h.slice(18, 30)}`
  }

  /** Base64 of noise, for signatures and pictures; no compressor shrinks it by more than a quarter. */
  base64(length: number): string {
    const bytes = Buffer.allocUnsafe(Math.ceil(length / 16) * 12)
    for (let i = 0; i < bytes.length; i += 4) bytes.writeUInt32LE(this.#uint32(), i)
    return bytes.toString("base64").slice(0, length)
  }
}
