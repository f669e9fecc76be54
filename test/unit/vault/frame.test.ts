import { describe, expect, test } from "bun:test"
import { zstdDecompressSync } from "node:zlib"
import {
  contentStart,
  dataFrame,
  decodeHeader,
  decodeNote,
  encodeHeader,
  encodeNote,
  frameContent,
  NOTE_SIZE,
  type RangeNote,
} from "../../../src/vault/frame.ts"
import { contentSize } from "../../../src/vault/frame-size.ts"
import { BLOCK, bomb } from "../../support/bomb.ts"

const NOTE: RangeNote = {
  from: 2 ** 40,
  to: 2 ** 40 + 17,
  frameLength: 4_000_000_000,
  inode: 2n ** 63n + 5n,
  tailHash: 0xfedcba9876543210n,
  sha256: new Uint8Array(32).fill(7),
  time: 1_790_000_000_000,
  rules: 3,
  hidden: 8,
}

describe("data frames", () => {
  for (const [name, content] of [
    ["one byte", new Uint8Array([10])],
    ["text", new TextEncoder().encode("a line\n".repeat(1000))],
    ["noise", crypto.getRandomValues(new Uint8Array(50_000))],
  ] as const) {
    test(`${name}: read back by us and by another decoder`, () => {
      const frame = dataFrame(content)
      expect(Buffer.from(frameContent(frame)).equals(content)).toBe(true)
      expect(Buffer.from(zstdDecompressSync(frame)).equals(content)).toBe(true)
    })
  }

  test("the checksum is checked: a changed one is refused", () => {
    const frame = dataFrame(new TextEncoder().encode("something worth keeping\n".repeat(20)))
    frame[frame.length - 1] = frame[frame.length - 1]! ^ 1
    expect(() => frameContent(frame)).toThrow()
  })

  test("a note between frames is passed over by another decoder", () => {
    const a = new TextEncoder().encode("first\n")
    const b = new TextEncoder().encode("second\n")
    const file = Buffer.concat([
      encodeHeader({ id: "x", path: "/p", created: 1 }),
      dataFrame(a),
      encodeNote(NOTE),
      dataFrame(b),
      encodeNote(NOTE),
    ])
    expect(zstdDecompressSync(file).toString()).toBe("first\nsecond\n")
  })
})

describe("the beginning of a frame's content", () => {
  const BLOCK = 1 << 17
  const random = (length: number): Uint8Array => {
    const bytes = new Uint8Array(length)
    for (let at = 0; at < length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536))
    return bytes
  }
  const text = (length: number): Uint8Array => {
    const words = Array.from(random(length >> 2), (n) => ["lamp", "amber ", "walrus, ", "\n"][n % 4])
    return new TextEncoder().encode(words.join("").padEnd(length, "x")).subarray(0, length)
  }
  const kinds: readonly [name: string, make: (length: number) => Uint8Array][] = [
    ["text", text],
    ["noise", random],
    ["one byte again and again", (length) => new Uint8Array(length).fill(120)],
  ]

  test.each(kinds)("%s: as much as was asked for, of any length", (_name, make) => {
    for (const size of [2 * BLOCK + 1, 3 * BLOCK, 5 * BLOCK + 777]) {
      const content = make(size)
      const frame = dataFrame(content)
      for (const length of [1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK]) {
        const blocks = Math.ceil(length / BLOCK)
        const start = contentStart(frame.slice(), length)
        if (blocks * BLOCK > (size * 2) / 3) {
          // Little is saved.
          expect(start).toBeUndefined()
          continue
        }
        expect(start?.length).toBe(blocks * BLOCK)
        expect(Buffer.from(start!).equals(content.subarray(0, start!.length))).toBe(true)
      }
    }
  })

  test("where the compressor has cut blocks otherwise, it is right or left to the decoder of whole frames", () => {
    for (const seam of [5000, BLOCK / 2, BLOCK + 4000, 2 * BLOCK - 3000]) {
      const content = Buffer.concat([text(seam), random(4 * BLOCK - seam), text(BLOCK)])
      const frame = dataFrame(content)
      for (const length of [1, BLOCK, 2 * BLOCK]) {
        const copy = frame.slice()
        const start = contentStart(copy, length)
        if (start === undefined) expect(Buffer.from(copy).equals(frame)).toBe(true)
        else expect(Buffer.from(start).equals(content.subarray(0, start.length))).toBe(true)
      }
    }
  })

  test("of a small frame, one of other programs, and what is none: left to the decoder of whole frames", () => {
    expect(contentStart(dataFrame(text(1000)), 10)).toBeUndefined()
    expect(contentStart(Bun.zstdCompressSync(text(3 * BLOCK)), 10)).toBeUndefined()
    expect(contentStart(new Uint8Array(0), 0)).toBeUndefined()
    const cut = dataFrame(text(3 * BLOCK)).slice(0, 200)
    expect(contentStart(cut, BLOCK + 1)).toBeUndefined()
    expect(contentStart(cut.fill(0xff, 9), 1)).toBeUndefined()
  })

  test("a frame whose beginning cannot be unpacked is left as it was", () => {
    const damaged = dataFrame(text(3 * BLOCK)).fill(0xff, 12, 60)
    const copy = damaged.slice()
    expect(contentStart(copy, 1)).toBeUndefined()
    expect(Buffer.from(copy).equals(damaged)).toBe(true)
  })
})

describe("notes", () => {
  test("a range note comes back as it was", () => {
    const bytes = encodeNote(NOTE)
    expect(bytes.length).toBe(NOTE_SIZE)
    expect(decodeNote(bytes)).toEqual(NOTE)
  })

  test("any changed byte is noticed", () => {
    const bytes = encodeNote(NOTE)
    for (let at = 0; at < bytes.length; at++) {
      const changed = bytes.slice()
      changed[at] = changed[at]! ^ 0x40
      expect(decodeNote(changed)).toBeUndefined()
    }
  })

  test("a header comes back with its length; a cut one does not", () => {
    const header = { id: "0123", path: "/home/me/проект/a.jsonl", created: 5 }
    const bytes = encodeHeader(header)
    expect(decodeHeader(Buffer.concat([bytes, bytes]))).toEqual({ header, length: bytes.length })
    expect(decodeHeader(bytes.subarray(0, bytes.length - 1))).toBeUndefined()
  })
})

describe("what others have compressed", () => {
  const noise = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length))

  test("our own frames say how long their content is, at every width of that number", () => {
    for (const length of [1, 255, 256, 257, 65_535, 65_536, 65_791, 65_792, 300_000]) {
      for (const content of [new Uint8Array(length).fill(0x61), noise(Math.min(length, 60_000))]) {
        for (const frame of [dataFrame(content), dataFrame(content, 19), Bun.zstdCompressSync(content)]) {
          expect(contentSize(frame)).toBe(content.length)
          expect(frameContent(frame, content.length)).toEqual(content)
          expect(() => frameContent(frame, content.length + 1)).toThrow()
        }
      }
    }
  })

  test("one that tells no length, another one, or is not alone is not unpacked", () => {
    const many = 10_000
    const good = dataFrame(noise(100))
    const skippable = encodeNote(NOTE)
    expect(contentSize(bomb(3, 3 * BLOCK))).toBe(3 * BLOCK)
    expect(frameContent(bomb(3, 3 * BLOCK), 3 * BLOCK)).toHaveLength(3 * BLOCK)
    for (const frame of [
      bomb(many),
      Buffer.concat([good, bomb(many)]),
      Buffer.concat([good, good]),
      Buffer.concat([good, skippable]),
      Buffer.concat([skippable, good]),
      good.subarray(0, -1),
      good.subarray(0, 7),
      new Uint8Array(0),
      noise(200),
    ])
      expect({ length: frame.length, size: contentSize(frame) }).toEqual({
        length: frame.length,
        size: undefined,
      })
    const before = process.resourceUsage().maxRSS
    // It says 100 bytes, and holds 1.3 GB.
    for (const frame of [bomb(many, 100), bomb(many)]) expect(() => frameContent(frame, 100)).toThrow()
    expect(() => frameContent(bomb(many, many * BLOCK), 100)).toThrow()
    expect((process.resourceUsage().maxRSS - before) >> 10).toBeLessThan(50)
  })
})
