import { describe, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { CorpusOptions } from "../../../src/cli/bench/corpus.ts"
import { appendTranscript, generateTranscript, writeTranscript } from "../../../src/cli/bench/corpus.ts"

const OPTIONS: CorpusOptions = {
  seed: 7,
  bytes: 1_000_000,
  sessionId: "0000be4c-0000-4000-a000-000000000007",
  cwd: "/home/dev/shop",
  version: "2.1.229",
}

type Json = Record<string, unknown>

const textOf = (options: CorpusOptions): string => [...generateTranscript(options)].join("")
const recordsOf = (options: CorpusOptions): Json[] =>
  [...generateTranscript(options)].map((line) => JSON.parse(line) as Json)
const blocksOf = (record: Json): Json[] => {
  const content = (record["message"] as Json | undefined)?.["content"]
  return Array.isArray(content) ? (content as Json[]) : []
}

describe("generateTranscript", () => {
  test("the same options always give the same bytes", () => {
    const text = textOf(OPTIONS)
    expect(textOf(OPTIONS)).toBe(text)
    // Pinned: figures of two releases can be compared only over the same corpus.
    expect(new Bun.CryptoHasher("sha256").update(text).digest("hex")).toMatchInlineSnapshot(
      `"8536840bf01b46cb9860113a3c4444ce3a396b4906761048364b27ff105bdf59"`,
    )
  })

  test("another seed gives another session", () => {
    expect(textOf({ ...OPTIONS, seed: 8 }).slice(0, 5000)).not.toBe(textOf(OPTIONS).slice(0, 5000))
  })

  test.each([20_000, 100_000, 1_000_000, 5_000_000])("asked for %d bytes, it gives hardly more", (bytes) => {
    for (const seed of [1, 2, 3]) {
      const given = Buffer.byteLength(textOf({ ...OPTIONS, seed, bytes }))
      expect(given).toBeGreaterThanOrEqual(bytes)
      expect(given).toBeLessThan(bytes + 16_384)
    }
  })

  test("each line is one JSON object, with its newline and no other", () => {
    for (const line of generateTranscript(OPTIONS)) {
      expect(line.endsWith("\n")).toBe(true)
      expect(line.indexOf("\n")).toBe(line.length - 1)
      expect(JSON.parse(line)).toBeObject()
    }
  })

  test("every parent precedes its child; only the start and compactions have none", () => {
    const seen = new Set<unknown>()
    let roots = 0
    for (const record of recordsOf({ ...OPTIONS, bytes: 4_000_000 })) {
      if (record["uuid"] === undefined) continue
      if (record["parentUuid"] === null) roots++
      else expect(seen.has(record["parentUuid"])).toBe(true)
      seen.add(record["uuid"])
    }
    const boundaries = recordsOf({ ...OPTIONS, bytes: 4_000_000 }).filter(
      ({ subtype }) => subtype === "compact_boundary",
    )
    expect(boundaries.length).toBeGreaterThan(0)
    expect(roots).toBe(1 + boundaries.length)
  })

  test("one block per line, and every result answers an earlier call", () => {
    const calls = new Set<unknown>()
    const linesOfMessage = new Map<unknown, number>()
    for (const record of recordsOf(OPTIONS)) {
      const blocks = blocksOf(record)
      if (record["type"] === "assistant") {
        expect(blocks).toHaveLength(1)
        const { id } = record["message"] as Json
        linesOfMessage.set(id, (linesOfMessage.get(id) ?? 0) + 1)
      }
      for (const block of blocks) {
        if (block["type"] === "tool_use") calls.add(block["id"])
        if (block["type"] === "tool_result") expect(calls.has(block["tool_use_id"])).toBe(true)
      }
    }
    expect(calls.size).toBeGreaterThan(50)
    expect(Math.max(...linesOfMessage.values())).toBeGreaterThan(1)
  })

  test("all kinds of lines that the host writes are there", () => {
    const kinds = new Set(
      recordsOf({ ...OPTIONS, bytes: 6_000_000 }).map(({ type, subtype }) =>
        subtype === undefined ? String(type) : `${type}/${subtype}`,
      ),
    )
    for (const kind of [
      "user",
      "assistant",
      "attachment",
      "queue-operation",
      "file-history-snapshot",
      "system/compact_boundary",
      "system/turn_duration",
      "last-prompt",
    ]) {
      expect(kinds).toContain(kind)
    }
  })

  test("compresses like the real thing, whole and in small pieces", () => {
    const bytes = Buffer.from(textOf({ ...OPTIONS, bytes: 3_000_000 }))
    const whole = bytes.length / Bun.zstdCompressSync(bytes, { level: 3 }).length
    expect(whole).toBeWithin(4, 8)
    let pieces = 0
    for (let at = 0; at < bytes.length; at += 20_000) {
      pieces += Bun.zstdCompressSync(bytes.subarray(at, at + 20_000), { level: 3 }).length
    }
    expect(bytes.length / pieces).toBeWithin(2.4, 4.6)
  })

  test("tool results are usually small and occasionally large", () => {
    const sizes = recordsOf({ ...OPTIONS, bytes: 20_000_000 })
      .flatMap(blocksOf)
      .filter(({ type }) => type === "tool_result")
      .map(({ content }) => JSON.stringify(content).length)
      .sort((a, b) => a - b)
    expect(sizes[sizes.length >> 1]!).toBeWithin(100, 1_500)
    expect(sizes.at(-1)!).toBeGreaterThan(100_000)
  })

  test("no result exceeds the caller's limit", () => {
    const records = recordsOf({ ...OPTIONS, largestResult: 4_000 })
    for (const block of records.flatMap(blocksOf)) {
      // A line of context more, and what JSON needs for quotes.
      if (block["type"] === "tool_result") expect(JSON.stringify(block["content"]).length).toBeLessThan(6_000)
    }
  })

  test("talk: as many turns as requested, all short", () => {
    const text = textOf({ ...OPTIONS, bytes: Number.POSITIVE_INFINITY, turns: 50, style: "talk" })
    const prompts = text
      .trimEnd()
      .split("\n")
      .filter((line) => (JSON.parse(line) as Json)["type"] === "user")
    expect(prompts).toHaveLength(50)
    expect(text.length / 50).toBeLessThan(3_000)
  })
})

describe("writeTranscript", () => {
  test("writes what the generator yields, and can be continued", () => {
    const dir = mkdtempSync(join(tmpdir(), "corpus-"))
    try {
      const path = join(dir, "t.jsonl")
      const options = { ...OPTIONS, bytes: 300_000 }
      const written = writeTranscript(path, options)
      expect(readFileSync(path, "utf8")).toBe(textOf(options))
      expect(statSync(path).size).toBe(written.bytes)
      expect(written.turns).toBeGreaterThan(0)

      const more = appendTranscript(path, { ...OPTIONS, seed: 8, bytes: 20_000, after: written.lastUuid! })
      expect(statSync(path).size).toBe(written.bytes + more.bytes)
      const lines = readFileSync(path, "utf8").trimEnd().split("\n")
      expect(lines).toHaveLength(written.lines + more.lines)
      const first = lines
        .slice(written.lines)
        .map((line) => JSON.parse(line) as Json)
        .find(({ uuid }) => uuid !== undefined)
      expect(first?.["parentUuid"]).toBe(written.lastUuid)
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  })
})
