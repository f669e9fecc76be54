import { describe, expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { zstdDecompressSync } from "node:zlib"
import { transcriptName } from "../../../src/agents/layouts.ts"
import { FILTERED } from "../../../src/secrets/filter.ts"
import { appendMade } from "../../../src/vault/append-made.ts"
import {
  contentStart,
  dataFrame,
  decodeHeader,
  decodeTrailer,
  encodeHeader,
  encodeTrailer,
  frameContent,
  TRAILER_SIZE,
  type Trailer,
} from "../../../src/vault/frame.ts"
import { contentSize, mostContent } from "../../../src/vault/frame-size.ts"
import {
  isBesideCopy,
  isSuperseded,
  supersededPath,
  vaultPath,
  withoutVersion,
} from "../../../src/vault/layout.ts"
import { CopyReader, CopyReaders } from "../../../src/vault/reader.ts"
import { goneEnding } from "../../../src/views/transcript-rows.ts"
import { Archive } from "../../support/archive.ts"
import { BLOCK, bomb } from "../../support/bomb.ts"
import { contentOf } from "../../support/machine.ts"
import { tempFolder } from "../../support/temp.ts"

describe("frame", () => {
  const NOTE: Trailer = {
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
        encodeTrailer(NOTE),
        dataFrame(b),
        encodeTrailer(NOTE),
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
    test("a trailer comes back as it was", () => {
      const bytes = encodeTrailer(NOTE)
      expect(bytes.length).toBe(TRAILER_SIZE)
      expect(decodeTrailer(bytes)).toEqual(NOTE)
    })

    test("any changed byte is noticed", () => {
      const bytes = encodeTrailer(NOTE)
      for (let at = 0; at < bytes.length; at++) {
        const changed = bytes.slice()
        changed[at] = changed[at]! ^ 0x40
        expect(decodeTrailer(changed)).toBeUndefined()
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

    test("how long the content of several frames is at most, without unpacking them", () => {
      const [some, more] = [noise(300_000), new Uint8Array(500_000)]
      const frames = [dataFrame(some), encodeTrailer(NOTE), Bun.zstdCompressSync(more)]
      expect(mostContent(Buffer.concat(frames))).toBe(800_000)
      expect(mostContent(bomb(10_000))).toBe(10_000 * BLOCK)
      expect(mostContent(Buffer.concat([dataFrame(some), bomb(3, undefined, true)]))).toBe(
        300_000 + 4 * BLOCK,
      )
      // It tells less than it holds, and is refused for that.
      expect(mostContent(bomb(10_000, 100))).toBe(100)
      expect(() => frameContent(bomb(10_000, 100))).toThrow()
      for (const whole of [dataFrame(some), bomb(3), encodeTrailer(NOTE)])
        for (const cut of [whole.subarray(0, -1), whole.subarray(0, 5), Buffer.concat([whole, noise(20)])])
          expect(mostContent(cut)).toBeUndefined()
    })

    test("one that tells no length, another one, or is not alone is not unpacked", () => {
      const many = 10_000
      const good = dataFrame(noise(100))
      const skippable = encodeTrailer(NOTE)
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
})

describe("layout", () => {
  test("a transcript's copy stands where the host has it, below its projects folder", () => {
    expect(vaultPath("/home/me/.claude/projects/-src-app/abc.jsonl", "/home/me")).toBe(
      "home/-src-app/abc.jsonl.zst",
    )
    expect(vaultPath("/home/me/.claude/projects/-src-app/abc/subagents/agent-1.jsonl", "/home/me")).toBe(
      "home/-src-app/abc/subagents/agent-1.jsonl.zst",
    )
  })

  test("two configuration folders never share a copy", () => {
    const first = vaultPath("/a/claude/projects/p/abc.jsonl", "/home/me")
    const second = vaultPath("/b/claude/projects/p/abc.jsonl", "/home/me")
    expect(first).not.toBe(second)
    expect(first).toMatch(/^root-[0-9a-f]{8}\/p\/abc\.jsonl\.zst$/)
  })

  test("a file that is in no projects folder stands under a label of its own folder", () => {
    expect(vaultPath("/tmp/x.jsonl", "/home/me")).toMatch(/^root-[0-9a-f]{8}\/x\.jsonl\.zst$/)
    expect(vaultPath("/tmp/projects/x.jsonl", "/home/me")).toMatch(/^root-[0-9a-f]{8}\/x\.jsonl\.zst$/)
  })

  test("the last projects folder counts, if a folder of a project is in it", () => {
    expect(vaultPath("/projects/p/x.jsonl", "/")).toMatch(/^root-[0-9a-f]{8}\/p\/x\.jsonl\.zst$/)
    expect(vaultPath("/home/me/.claude/projects/projects/x.jsonl", "/home/me")).toMatch(
      /^root-[0-9a-f]{8}\/x\.jsonl\.zst$/,
    )
    expect(vaultPath("/h/projects/p/projects", "/home/me")).toMatch(/^root-[0-9a-f]{8}\/projects\.zst$/)
    expect(vaultPath("/h/projects/p/projects/q/x.jsonl", "/home/me")).toMatch(
      /^root-[0-9a-f]{8}\/q\/x\.jsonl\.zst$/,
    )
  })

  test("names of sessions and subagents, old and new", () => {
    expect(transcriptName("/p/abc.jsonl")).toEqual({ session: "abc", agent: undefined })
    expect(transcriptName("/p/agent-12.jsonl")).toEqual({ session: undefined, agent: "12" })
    expect(transcriptName("/p/abc/subagents/agent-12.jsonl")).toEqual({ session: "abc", agent: "12" })
    const workflow = "/h/projects/-p/abc/subagents/workflows/run-1"
    expect(transcriptName(`${workflow}/agent-12.jsonl`)).toEqual({ session: "abc", agent: "12" })
    expect(transcriptName(`${workflow}/journal.jsonl`)).toEqual({
      session: "abc",
      agent: "workflows/run-1/journal",
    })
    // Folders of the user's that are called so.
    for (const path of ["/subagents/h/projects/-p/abc.jsonl", "/h/subagents/abc.jsonl"])
      expect(transcriptName(path)).toEqual({ session: "abc", agent: undefined })
    const beside = "/h/subagents/h/projects/-p/agent-12.jsonl"
    expect(transcriptName(beside)).toEqual({ session: undefined, agent: "12" })
  })

  test("superseded copies keep a name of their own, as many as there are, whatever the file was called", () => {
    expect(supersededPath("/v/a.jsonl.zst", 2)).toBe("/v/a.~2.jsonl.zst")
    for (const file of ["/v/a.jsonl.zst", "/v/notes.zst", "/v/a.~b.jsonl.zst"]) {
      expect([file, isSuperseded(file)]).toEqual([file, false])
      for (const n of [1, 9, 10, 123]) {
        const former = supersededPath(file, n)
        expect([former, isSuperseded(former), withoutVersion(former)]).toEqual([former, true, file])
      }
    }
  })

  test("the mark of a copy that is gone changes nothing of what its name says", () => {
    const ids = ["0123abcd-4f5e", "0123456789ab"]
    for (const [copy, isBeside, former] of [
      ["home/-x/S1.jsonl.zst", false, false],
      ["home/-x/S1.~2.jsonl.zst", false, true],
      ["home/-x/S1/subagents/agent-a.jsonl.zst", false, false],
      ["home/-x/S1/subagents/agent-a.~1.jsonl.zst", false, true],
      ["home/-x/S1/tool-results/b1.txt.zst", true, false],
      ["home/-x/S1/tool-results/b1.txt.~1.zst", true, true],
      ["home/-x/S1/tool-results/rows.jsonl.zst", true, false],
      ["home/-x#1/S1/tool-results/b1.zst#2.txt.zst", true, false],
      ["fetched/other/0123abcd-4f5e/home/-x/S1/subagents/agent-a.jsonl.zst", false, false],
      ["imported/tool/S1.jsonl.zst", false, false],
      ["history/home.jsonl.zst", false, false],
    ] as const)
      for (const name of [copy, ...ids.map((id) => copy + goneEnding(id))]) {
        const said = { isBeside: isBesideCopy(name), former: isSuperseded(name), place: withoutVersion(name) }
        expect([name, said]).toEqual([name, { isBeside, former, place: copy.replace(/\.~\d/, "") }])
      }
  })

  test("a session's name that is no id is replaced in its copies' names", () => {
    const hash = new Bun.CryptoHasher("sha256").update("-p q").digest("hex")
    const projects = "/home/me/.claude/projects/-src"
    expect(vaultPath(`${projects}/-p q.jsonl`, "/home/me")).toBe(`home/-src/${hash}.jsonl.zst`)
    expect(vaultPath(`${projects}/-p q/subagents/agent-1.jsonl`, "/home/me")).toBe(
      `home/-src/${hash}/subagents/agent-1.jsonl.zst`,
    )
    expect(vaultPath(`${projects}/-p q/tool-results/b1.txt`, "/home/me")).toBe(
      `home/-src/${hash}/tool-results/b1.txt.zst`,
    )
    expect(vaultPath("/backup/-p q.jsonl", "/home/me")).toEndWith(`/${hash}.jsonl.zst`)
  })

  test.each([
    ["home/-src/abc.jsonl.zst", false],
    ["home/-src/abc.~1.jsonl.zst", false],
    ["home/-src/abc/subagents/agent-1.jsonl.zst", false],
    ["home/-src/abc/subagents/agent-1.meta.json.zst", true],
    ["home/-src/abc/tool-results/b1.txt.zst", true],
    ["home/-src/abc/tool-results/b1.txt.~2.zst", true],
    ["home/-src/abc/tool-results/rows.jsonl.zst", true],
    ["root-0123abcd/-src/abc/plan.md.zst", true],
    ["root-0123abcd/abc.jsonl.zst", false],
    ["fetched/other/0123/home/-src/abc.jsonl.zst", false],
    ["imported/claude-mem/abc~claude-mem.jsonl.zst", false],
    ["summaries/abc.jsonl.zst", false],
  ])("%s is of a file beside a transcript: %p", (copy, isIts) => {
    expect(isBesideCopy(copy)).toBe(isIts)
  })
})

/** Lines of a copy, read by themselves: the same bytes as those of whole frames. */
describe("reader", () => {
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
})

/** Lines that were made rather than read: secrets in them. */
describe("append made", () => {
  const VALUE = "zebra-Kafe71-quilt"
  const line = (text: string): string => `${JSON.stringify({ type: "user", message: { content: text } })}\n`

  test("a value that is recognised in one frame is filled in all, before and after", () => {
    using folder = tempFolder()
    const copy = join(folder.path, "x.jsonl.zst")
    const long = "some words ".repeat(30_000)
    const lines = [line(VALUE), line(long), line(`DB_PASSWORD=${VALUE}`), line(long), line(`it is ${VALUE}`)]
    const made = appendMade({
      copy,
      path: join(folder.path, "x.jsonl"),
      now: 1,
      dryRun: false,
      secrets: FILTERED,
      edit: (content) => content,
      choose: () => lines,
      onBegin: () => {},
    })
    expect(made.taken).toBe(lines.join("").length)
    expect(contentOf(copy).toString()).toBe(lines.join("").replaceAll(VALUE, "*".repeat(VALUE.length)))
  })
})
