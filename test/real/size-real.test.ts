/** What an archive of the real transcripts at hand takes on disk, after hooks have filled it frame by frame. */
import { expect, test } from "bun:test"
import { appendFileSync, mkdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { mergeFrames } from "../../src/vault/merge-frames.ts"
import { type ArchiveStatus, ReadOnce, readViews, statusWith } from "../../src/views/archive-status.ts"
import { open } from "../../src/views/open.ts"
import { rebuild } from "../../src/views/rebuild-views.ts"
import { Archive } from "../support/archive.ts"
import { transcriptFiles } from "../support/real.ts"

/** Bytes that a session grows by between two hooks. */
const GROWTH = 16 << 10
const MOST = 0.45

const files = transcriptFiles()
if (files.length === 0) console.warn("no real transcripts beside the checkout: skipped")

function diskOf(dataHome: string): ArchiveStatus["disk"] {
  using archive = new ReadOnce(dataHome)
  return statusWith(readViews(archive), archive, Date.now()).disk
}

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
      const { vault, database, wal, ratio } = diskOf(archive.dataHome)
      return `${(ratio! * 100).toFixed(1)}% (vault ${vault}, views ${database + wal}) of ${total}`
    }
    const before = took()
    const report = mergeFrames(archive.dataHome, { dryRun: false })
    expect(report).toMatchObject({ ok: true })
    const merged = took()
    const { ratio } = diskOf(archive.dataHome)
    expect(ratio).toBeLessThanOrEqual(MOST)
    const { unreadable, ms } = rebuild(archive.dataHome, { now: Date.now(), wait: 0 })
    expect(unreadable).toEqual([])
    expect(statSync(join(archive.dataHome, "archive.db")).size).toBeGreaterThan(0)
    open(archive.dataHome, "write", 0).close()
    console.info(`as hooks leave it: ${before}\nmerged: ${merged}\nrebuilt in ${ms} ms: ${took()}`)
  },
  120_000,
)
