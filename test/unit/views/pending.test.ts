import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { listPending, markPending, pendingInOrder } from "../../../src/views/pending.ts"

setDefaultTimeout(60_000)

/**
 * Claims a marker and gives it back, over and over, as processes do that index the same copy by turns: none is done with
 * it before somebody who looks could look twice.
 */
const CLAIMS = `
  const { renameSync } = require("node:fs")
  const [folder, name] = process.argv.slice(-2)
  const names = ["json", "1.json", "2.json"].map((end) => folder + "/" + name + "." + end)
  process.stdout.write("ready")
  for (let n = 0; ; n++) {
    renameSync(names[n % 3], names[(n + 1) % 3])
    for (const end = performance.now() + 0.05 * (1 + (n % 5)); performance.now() < end; ) {}
  }
`

test("a copy that waits is listed, also while another process claims its marker", async () => {
  const dataHome = mkdtempSync(join(tmpdir(), "ctxbridge-pending-"))
  const waiting = { path: "/p/a.jsonl", copy: "home/p/a.jsonl.zst", session: "a" }
  try {
    mkdirSync(join(dataHome, "pending"))
    markPending(dataHome, waiting)
    const [marker = ""] = readdirSync(join(dataHome, "pending"))
    const other = Bun.spawn(
      [process.execPath, "-e", CLAIMS, join(dataHome, "pending"), marker.replace(/\.json$/, "")],
      { stdout: "pipe", stderr: "inherit" },
    )
    try {
      await other.stdout.getReader().read()
      for (let n = 0; n < 2000; n++) expect(listPending(dataHome)).toMatchObject([waiting])
    } finally {
      other.kill()
      await other.exited
    }
  } finally {
    rmSync(dataHome, { recursive: true })
  }
})

test("the list of all prompts comes after files beside transcripts, and what was rewritten before all", () => {
  const dataHome = mkdtempSync(join(tmpdir(), "ctxbridge-pending-"))
  const copies = [
    "home/p/s.~1.jsonl.zst",
    "home/p/s.jsonl.zst",
    "home/p/s/tool-results/b.txt.zst",
    "history/home.~1.jsonl.zst",
    "history/home.jsonl.zst",
  ]
  try {
    for (const copy of copies.toReversed()) markPending(dataHome, { path: "/p", copy, session: "s" })
    expect(pendingInOrder(dataHome).map(({ copy }) => copy)).toEqual(copies)
  } finally {
    rmSync(dataHome, { recursive: true })
  }
})

test("what is no marker is passed over", () => {
  const dataHome = mkdtempSync(join(tmpdir(), "ctxbridge-pending-"))
  try {
    mkdirSync(join(dataHome, "pending"))
    writeFileSync(join(dataHome, "pending", "half.json"), '{"path": "/p')
    writeFileSync(join(dataHome, "pending", "other.json"), '{"path": "/p", "copy": "c", "session": "s"}')
    expect(listPending(dataHome)).toEqual([])
  } finally {
    rmSync(dataHome, { recursive: true })
  }
})
