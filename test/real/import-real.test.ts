/** All the real transcripts at hand: every byte, every human turn, nothing twice. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { zstdDecompressSync } from "node:zlib"
import { archiveAll } from "../../src/job/request-visits.ts"
import { vaultFile, vaultPath } from "../../src/vault/layout.ts"
import type { Database } from "../../src/views/database.ts"
import { open } from "../../src/views/open.ts"
import { totals } from "../../src/views/queries/totals.ts"
import { sampleFiles, transcriptFiles } from "../support/real.ts"

const files = [...transcriptFiles(), ...sampleFiles()]
if (files.length === 0) console.warn("no real transcripts beside the checkout: skipped")

describe.skipIf(files.length === 0)("real transcripts", () => {
  const root = mkdtempSync(join(tmpdir(), "ctxbridge-real-"))
  const place = { dataHome: join(root, "data"), home: "/nobody" }
  const paths: string[] = []
  let db: Database

  beforeAll(() => {
    db = open(place.dataHome, "write", 1000)
    for (const [n, file] of files.entries()) {
      const folder = join(root, "projects", `-src-${n}`)
      mkdirSync(folder, { recursive: true })
      const path = join(folder, `${n}-${basename(file)}`)
      cpSync(file, path)
      paths.push(path)
      archiveAll(db, place, path, Number.MAX_SAFE_INTEGER, { lastLine: "any" })
    }
  }, 120_000)

  afterAll(() => {
    db.close()
    rmSync(root, { recursive: true, force: true })
  })

  test("100 % of the bytes", () => {
    for (const path of paths) {
      const copy = vaultFile(place.dataHome, vaultPath(path, place.home))
      expect(zstdDecompressSync(readFileSync(copy)).equals(readFileSync(path))).toBe(true)
    }
  })

  test("100 % of what a human typed, by a rule of its own", () => {
    const known = new Set(
      db
        .query<{ prompt: string }, []>("SELECT prompt FROM turns")
        .all()
        .map(({ prompt }) => prompt),
    )
    let seen = 0
    const missing: string[] = []
    for (const path of paths) {
      for (const text of readFileSync(path, "utf8").split("\n").flatMap(typed)) {
        seen++
        if (!known.has(text)) missing.push(`${basename(path)}: ${text.slice(0, 80)}`)
      }
    }
    expect(missing).toEqual([])
    expect(seen).toBeGreaterThan(50)
  })

  test("imported again: nothing twice", () => {
    const before = totals(db)
    for (const path of paths) {
      archiveAll(db, place, path, Number.MAX_SAFE_INTEGER, { lastLine: "any" })
    }
    expect(totals(db)).toEqual(before)
    const twice = db
      .query<{ n: number }, []>("SELECT count(*) - count(DISTINCT key) AS n FROM messages")
      .get()
    expect(twice?.n).toBe(0)
  })
})

/** Words in a user line that nothing marks as Claude Code's; short enough that the views keep them whole. */
function typed(line: string): string[] {
  let record: Record<string, unknown>
  try {
    record = JSON.parse(line)
  } catch {
    return []
  }
  if (record?.["type"] !== "user" || record["isMeta"] || record["isSidechain"]) return []
  if (record["isCompactSummary"] || record["toolUseResult"] !== undefined) return []
  if (record["promptSource"] === "system") return []
  if (((record["origin"] as { kind?: string } | undefined)?.kind ?? "human") !== "human") return []
  const content = (record["message"] as { content?: unknown } | undefined)?.content
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content
  if (!Array.isArray(blocks) || blocks.some((block) => block?.type !== "text" && block?.type !== "image"))
    return []
  const texts = blocks.flatMap((block) => (typeof block.text === "string" ? [block.text] : []))
  if (texts.length !== 1) return []
  return texts.filter((text) => !/^\s*[</[]|^Caveat:|^\s*$/.test(text) && text.length <= 3500)
}
