/**
 * The decoder over real transcripts, where a checkout has them beside it. Nothing of them is kept here; failures
 * name a file and a line.
 */
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { relative } from "node:path"
import { decodeLine } from "../../src/agents/agents.ts"
import { isObject, type JsonObject, objectOf } from "../../src/record/json.ts"
import type { TranscriptRecord } from "../../src/record/types.ts"
import { SHARED, sampleFiles, transcriptFiles } from "../support/real.ts"

/** Calls `each` for every line that is a JSON object. */
function eachLine(
  files: readonly string[],
  each: (raw: JsonObject, record: TranscriptRecord, where: string) => void,
): number {
  let lines = 0
  for (const file of files) {
    const rows = readFileSync(file, "utf8").split("\n")
    rows.forEach((row, index) => {
      if (row === "") return
      lines++
      const record = decodeLine(row)
      let raw: unknown
      try {
        raw = JSON.parse(row)
      } catch {}
      const where = `${relative(SHARED, file)}:${index + 1}`
      if (isObject(raw)) each(raw, record, where)
      else if (record.type !== "malformed") throw new Error(`${where} should be malformed`)
    })
  }
  return lines
}

/** A rough rule of its own: a user line that is nobody's but a human's, and whose words start like words. */
function humanWords(raw: JsonObject): string | undefined {
  if (raw["type"] !== "user" || raw["isSidechain"] || raw["isMeta"] || raw["isCompactSummary"])
    return undefined
  if (raw["origin"] && objectOf(raw["origin"])["kind"] !== "human") return undefined
  const content = objectOf(raw["message"])["content"]
  const words = Array.isArray(content)
    ? content
        .map(objectOf)
        .filter((block) => block["type"] === "text")
        .map((block) => String(block["text"]))
    : [String(content ?? "")]
  return words.find(
    (text) => /^\s*[\p{L}\p{N}"'`#*@-]/u.test(text) && !text.startsWith("Caveat: The messages below"),
  )
}

for (const [name, files] of Object.entries({ transcripts: transcriptFiles(), samples: sampleFiles() })) {
  describe.skipIf(files.length === 0)(`real ${name}`, () => {
    const wrong: string[] = []
    const kinds = new Map<string, number>()

    test("every line decodes, and says what it must", () => {
      const lines = eachLine(files, (raw, record, where) => {
        for (const part of record.parts) kinds.set(part.kind, (kinds.get(part.kind) ?? 0) + 1)
        const has = (kind: string) => record.parts.some((part) => part.kind === kind)
        const claim = (holds: boolean, words: string) => holds || wrong.push(`${where} ${words}`)
        const message = objectOf(raw["message"])
        const blocks = Array.isArray(message["content"]) ? message["content"].map(objectOf) : []

        claim(record.type !== "malformed", "decodes")
        if (typeof raw["uuid"] === "string") claim(record.uuid === raw["uuid"], "keeps its uuid")
        const words = humanWords(raw)
        if (words !== undefined) {
          const texts = record.parts.map((part) => (part.kind === "prompt" ? part.text : ""))
          claim(
            texts.some((text) => text.includes(words.toWellFormed().trim())),
            "yields its prompt",
          )
        }
        if (raw["isSidechain"] || raw["isMeta"] || raw["isCompactSummary"])
          claim(!has("prompt"), "is no prompt")
        if (JSON.stringify(raw).includes('"<task-notification>')) claim(!has("prompt"), "is a notification")
        if (raw["isCompactSummary"]) claim(has("summary"), "is a summary")
        if (raw["subtype"] === "compact_boundary") claim(has("boundary"), "is a boundary")
        if (raw["type"] === "assistant" && isObject(message["usage"]) && message["model"] !== "<synthetic>") {
          claim(record.usage?.output === message["usage"]["output_tokens"], "counts its tokens")
        }
        if (raw["type"] === "user" || raw["type"] === "assistant") {
          for (const type of ["tool_use", "tool_result"] as const) {
            const kind = type === "tool_use" ? "toolUse" : "toolResult"
            const expected = blocks.filter((block) => block["type"] === type).length
            const got = record.parts.filter((part) => part.kind === kind).length
            claim(got === expected, `has ${expected} ${type}`)
          }
        }
      })
      expect(wrong).toEqual([])
      expect(lines).toBeGreaterThan(100)
    })

    test("every kind of part that must occur occurs", () => {
      for (const kind of [
        "prompt",
        "text",
        "toolUse",
        "toolResult",
        "summary",
        "boundary",
        "notice",
        "output",
      ]) {
        expect(kinds.get(kind) ?? 0, kind).toBeGreaterThan(0)
      }
    })
  })
}
