/** What a start is told beforehand, while others index. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { preparePointers } from "../../../src/job/prepare-pointers.ts"
import { captureTranscript } from "../../../src/views/capture-transcript.ts"
import { index } from "../../../src/views/indexing.ts"
import { open } from "../../../src/views/open.ts"
import { settlePending } from "../../../src/views/pending.ts"
import { readPointer, writePointer } from "../../../src/views/pointers.ts"
import { Archive } from "../../support/archive.ts"

setDefaultTimeout(60_000)

const POINTERS = join(import.meta.dir, "../../../src/views/pointers.ts")

const placesOf = ({ dataHome, root }: Archive) => ({
  dataHome,
  home: root,
  claudeDir: join(root, ".claude"),
  hostConfig: join(root, ".claude.json"),
})

/** Runs a script beside us until `work` is done; it begins once the script has written something. */
async function beside(script: string, work: () => void): Promise<void> {
  const other = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" })
  try {
    await other.stdout.getReader().read()
    work()
  } finally {
    other.kill()
    await other.exited
  }
}

test("before the views are new, the pointer to the old ones is gone", () => {
  using archive = new Archive()
  const session = archive.session("one").turn("The first thing").flush()
  archive.follow(session)
  const project = archive.db.query<{ path: string }, []>("SELECT path FROM projects").get()!.path
  preparePointers(archive.db, placesOf(archive), 3)
  expect(readPointer(archive.dataHome, project)?.text).toContain("The first thing")
  session.turn("The second thing").flush()
  const place = { dataHome: archive.dataHome, home: archive.root }
  const now = Date.now()
  const taken = captureTranscript(place, session.path, {
    now,
    deadline: Number.POSITIVE_INFINITY,
    lastLine: "whole",
  })
  archive.db
    .transaction(() => {
      index(archive.db, archive.dataHome, taken, () => false)
      // Other folders of the project do not look at this one's markers.
      expect(readPointer(archive.dataHome, project)).toBeUndefined()
    })
    .immediate()
  settlePending(archive.dataHome, taken.copy)
})

test("a pointer is written while nobody can index", () => {
  using archive = new Archive()
  archive.follow(archive.session("one").turn("The first thing").flush())
  const other = open(archive.dataHome, "write", 0)
  try {
    // Somebody indexes at this moment.
    other.run("BEGIN IMMEDIATE")
    archive.db.run("PRAGMA busy_timeout = 0")
    expect(() => preparePointers(archive.db, placesOf(archive), 3)).toThrow("locked")
    other.run("ROLLBACK")
    preparePointers(archive.db, placesOf(archive), 3)
    const project = archive.db.query<{ path: string }, []>("SELECT path FROM projects").get()!.path
    expect(readPointer(archive.dataHome, project)?.text).toContain("The first thing")
  } finally {
    other.close()
  }
})

test("one that another process takes away while it is written does not fail its writer", async () => {
  const dataHome = mkdtempSync(join(tmpdir(), "ctxbridge-pointers-"))
  const script = `
    import { dropPointers } from ${JSON.stringify(POINTERS)}
    process.stdout.write("ready")
    for (;;) dropPointers(${JSON.stringify(dataHome)})
  `
  try {
    await beside(script, () => {
      for (let n = 0; n < 300; n++)
        writePointer(dataHome, `/p${n % 5}`, { session: "s", text: "", related: 3 })
    })
    writePointer(dataHome, "/p", { session: "s", text: "told", related: 3 })
    expect(readPointer(dataHome, "/p")?.text).toBe("told")
  } finally {
    rmSync(dataHome, { recursive: true })
  }
})
