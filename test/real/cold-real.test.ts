/** Turns of real transcripts that were cold are found by the words that they had. */

import { expect, test } from "bun:test"
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { archiveAll } from "../../src/job/request-visits.ts"
import { open } from "../../src/views/open.ts"
import { expectSameWordsAgain, turnsIn } from "../support/cold.ts"
import { sampleFiles, transcriptFiles } from "../support/real.ts"

const files = [...transcriptFiles(), ...sampleFiles()]
if (files.length === 0) console.warn("no real transcripts beside the checkout: skipped")

test.skipIf(files.length === 0)(
  "real turns that were cold have the words that they had",
  () => {
    const root = mkdtempSync(join(tmpdir(), "ctxbridge-real-"))
    const place = { dataHome: join(root, "data"), home: "/nobody" }
    const db = open(place.dataHome, "write", 1000)
    for (const [n, file] of files.entries()) {
      const folder = join(root, "projects", `-src-${n}`)
      mkdirSync(folder, { recursive: true })
      const path = join(folder, `${n}-${basename(file)}`)
      cpSync(file, path)
      archiveAll(db, place, path, Number.MAX_SAFE_INTEGER, { lastLine: "any" })
    }
    expect(turnsIn(db).length).toBeGreaterThan(200)
    expectSameWordsAgain(db, place.dataHome)
    db.close()
    rmSync(root, { recursive: true, force: true })
  },
  120_000,
)
