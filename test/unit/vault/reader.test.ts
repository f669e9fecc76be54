/** Lines of a copy, read by themselves: the same bytes as those of whole frames. */
import { expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { CopyReader, CopyReaders } from "../../../src/vault/reader.ts"
import { Archive } from "../../support/archive.ts"

/** A transcript in several frames, some of them of several blocks. */
function longArchive(): {
  archive: Archive
  file: string
  lines: { from: number; to: number }[]
  bytes: Buffer
} {
  const archive = new Archive()
  const transcript = archive.session("11111111-0000-4000-8000-000000000009")
  let file = ""
  for (let part = 0; part < 3; part++) {
    for (let n = 0; n < 60; n++) {
      const output = `${part} ${n} `.repeat(1 + ((n * 37) % 900))
      transcript.turn(
        `question ${part}.${n}`,
        [{ tool: "Bash", input: { command: "make" }, output }],
        "Done.",
      )
    }
    transcript.flush()
    file = archive.file(archive.follow(transcript))
  }
  const bytes = readFileSync(transcript.path)
  const lines: { from: number; to: number }[] = []
  for (let from = 0; from < bytes.length; ) {
    const to = bytes.indexOf(10, from) + 1
    lines.push({ from, to })
    from = to
  }
  return { archive, file, lines, bytes }
}

test("a line read by itself is the line, in any order of reading", () => {
  const { archive, file, lines, bytes } = longArchive()
  using _ = archive
  expect(bytes.length).toBeGreaterThan(600_000)
  const orders = [lines, lines.toReversed(), lines.map((_line, n) => lines[(n * 211) % lines.length]!)]
  for (const order of orders) {
    const reader = new CopyReader(file)
    for (const { from, to } of order) {
      expect(Buffer.from(reader.readLine(from, to)).equals(bytes.subarray(from, to))).toBe(true)
    }
    // And what was read before stays what it was.
    const first = reader.readLine(lines[0]!.from, lines[0]!.to)
    reader.readLine(lines.at(-1)!.from, lines.at(-1)!.to)
    expect(Buffer.from(first).equals(bytes.subarray(0, lines[0]!.to))).toBe(true)
    reader.close()
  }
})

test("lines of two copies by turns", () => {
  const [one, two] = [longArchive(), longArchive()]
  using _one = one.archive
  using _two = two.archive
  const readers = new CopyReaders()
  for (let n = 0; n < one.lines.length; n += 7) {
    for (const { file, lines, bytes } of [one, two]) {
      const { from, to } = lines[lines.length - 1 - n]!
      expect(Buffer.from(readers.of(file).readLine(from, to)).equals(bytes.subarray(from, to))).toBe(true)
    }
  }
  readers.close()
})

test("what is released is unpacked again, and nobody else's frame is touched", () => {
  const one = longArchive()
  const two = longArchive()
  using _one = one.archive
  using _two = two.archive
  const readers = new CopyReaders()
  const others = two.lines.at(-1)!
  const theirs = readers.of(two.file).read(others.from, others.to)
  for (const { from, to } of [one.lines[0]!, one.lines.at(-1)!, one.lines[0]!]) {
    expect(Buffer.from(readers.of(one.file).read(from, to)).equals(one.bytes.subarray(from, to))).toBe(true)
    readers.release(one.file)
    expect(Buffer.from(readers.of(one.file).readLine(from, to)).equals(one.bytes.subarray(from, to))).toBe(
      true,
    )
    readers.release(one.file)
    readers.release(one.file)
  }
  expect(Buffer.from(theirs).equals(two.bytes.subarray(others.from, others.to))).toBe(true)
  readers.release("/nowhere")
  readers.close()
})

test("a damaged frame is an error, or costs lines of its own blocks only", () => {
  const { archive, file, lines, bytes } = longArchive()
  using _ = archive
  const copy = readFileSync(file)
  const reader = new CopyReader(file)
  const { from } = reader.stretchAt(0)!
  reader.close()
  expect(from).toBe(0)
  // The magic number of the first frame.
  const at = copy.indexOf(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]))
  copy[at] = 0
  writeFileSync(file, copy)
  const damaged = new CopyReader(file)
  expect(() => damaged.readLine(lines[0]!.from, lines[0]!.to)).toThrow("cannot be read")
  const last = lines.at(-1)!
  expect(Buffer.from(damaged.readLine(last.from, last.to)).equals(bytes.subarray(last.from, last.to))).toBe(
    true,
  )
  damaged.close()
})
