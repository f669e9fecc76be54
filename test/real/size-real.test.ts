/** What an archive of the real transcripts at hand takes on disk, after hooks have filled it frame by frame. */
import { expect, test } from "bun:test"
import { appendFileSync, mkdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { readStatus } from "../../src/archive/archive-status.ts"
import { openDatabase } from "../../src/archive/database.ts"
import { rebuild } from "../../src/archive/rebuild-views.ts"
import { compactVault } from "../../src/vault/compact-vault.ts"
import { Archive } from "../support/archive.ts"
import { transcriptFiles } from "../support/real.ts"

/** Bytes that a session grows by between two hooks. */
const GROWTH = 16 << 10
const MOST = 0.45

const files = transcriptFiles()
if (files.length === 0) console.warn("no real transcripts beside the checkout: skipped")

test.skipIf(files.length === 0)(
  `vault and views take at most ${MOST} of the transcripts' bytes`,
  () => {
    using archive = new Archive()
    let total = 0
    for (const [n, file] of files.entries()) {
      const transcript = archive.session(`00000000-0000-4000-8000-${String(n).padStart(12, "0")}`)
      mkdirSync(dirname(transcript.path), { recursive: true })
      const bytes = readFileSync(file)
      for (let at = 0; at < bytes.length; at += GROWTH) {
        appendFileSync(transcript.path, bytes.subarray(at, at + GROWTH))
        archive.follow(transcript)
      }
      total += statSync(file).size
    }
    archive.db.close()
    const took = (): string => {
      const { vault, database, wal, ratio } = readStatus(archive.dataHome, Date.now()).disk
      return `${(ratio! * 100).toFixed(1)}% (vault ${vault}, views ${database + wal}) of ${total}`
    }
    const before = took()
    const report = compactVault(archive.dataHome, { dryRun: false })
    expect(report).toMatchObject({ ok: true })
    const merged = took()
    const { ratio } = readStatus(archive.dataHome, Date.now()).disk
    expect(ratio).toBeLessThanOrEqual(MOST)
    const { unreadable, ms } = rebuild(archive.dataHome, { now: Date.now(), wait: 0 })
    expect(unreadable).toEqual([])
    expect(statSync(join(archive.dataHome, "archive.db")).size).toBeGreaterThan(0)
    openDatabase(archive.dataHome, { wait: 0 }).close()
    console.info(`as hooks leave it: ${before}\nmerged: ${merged}\nrebuilt in ${ms} ms: ${took()}`)
  },
  120_000,
)
