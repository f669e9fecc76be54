/** Importing a part of a transcript and then the whole of it is importing it once. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { zstdDecompressSync } from "node:zlib"
import fc from "fast-check"
import { archiveAll } from "../../src/job/request-visits.ts"
import { vaultFile, vaultPath } from "../../src/vault/layout.ts"
import { open } from "../../src/views/open.ts"
import { transcriptFiles } from "../support/real.ts"
import { syntheticSession } from "../support/session.ts"
import { dumpViews } from "../support/views.ts"

setDefaultTimeout(60_000)

const root = mkdtempSync(join(tmpdir(), "ctxbridge-import-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const path = join(root, "projects", "-src-app", "11111111-2222-3333-4444-555555555555.jsonl")
mkdirSync(join(root, "projects", "-src-app"), { recursive: true })

let archives = 0

/** Imports each state of the file in turn into a fresh archive. */
function importAll(states: readonly Uint8Array[], lastLine: "whole" | "any") {
  const place = { dataHome: join(root, `archive-${archives++}`), home: "/nobody" }
  const db = open(place.dataHome, "write", 1000)
  try {
    for (const bytes of states) {
      writeFileSync(path, bytes)
      archiveAll(db, place, path, Number.MAX_SAFE_INTEGER, { lastLine })
    }
    const copy = vaultFile(place.dataHome, vaultPath(path, place.home))
    return { views: dumpViews(db), stored: zstdDecompressSync(readFileSync(copy)) }
  } finally {
    db.close()
  }
}

function sameInAnyPieces(bytes: Uint8Array, numRuns: number): void {
  for (const lastLine of ["whole", "any"] as const) {
    const once = importAll([bytes], lastLine)
    if (lastLine === "any") expect(once.stored.equals(bytes)).toBe(true)
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { minLength: 1, maxLength: 3 }), (cuts) => {
        const states = cuts.sort((a, b) => a - b).map((cut) => bytes.subarray(0, cut))
        const pieces = importAll([...states, bytes], lastLine)
        expect(pieces.stored.equals(once.stored)).toBe(true)
        expect(pieces.views).toEqual(once.views)
      }),
      { numRuns },
    )
  }
}

test("a synthetic session, cut anywhere: mid-line, mid-character", () => {
  sameInAnyPieces(Buffer.from(syntheticSession().join("")), 40)
})

const real = transcriptFiles()
test.skipIf(real.length === 0)(
  "real transcripts, cut anywhere",
  () => {
    const small = real.map((file) => readFileSync(file)).filter((bytes) => bytes.length < 300_000)
    expect(small.length).toBeGreaterThan(3)
    for (const bytes of small) sameInAnyPieces(bytes, 4)
  },
  120_000,
)
