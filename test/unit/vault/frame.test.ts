import { describe, expect, test } from "bun:test"
import { zstdDecompressSync } from "node:zlib"
import {
  dataFrame,
  decodeHeader,
  decodeNote,
  encodeHeader,
  encodeNote,
  frameContent,
  NOTE_SIZE,
  type RangeNote,
} from "../../../src/vault/frame.ts"

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
