/** Indexing what was captured just now, while others change the vault. */
import { expect, spyOn, test } from "bun:test"
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { captureTranscript } from "../../../src/vault/capture.ts"
import { listPending, settlePending } from "../../../src/vault/pending.ts"
import { rewriteCopy } from "../../../src/vault/rewrite.ts"
import { type FilledSpan, fillSpans, lineHash } from "../../../src/vault/tombstone.ts"
import { emptyTombstone, writeTombstone } from "../../../src/vault/tombstones.ts"
import { isComplete, markBehind } from "../../../src/views/completeness.ts"
import { catchUp, index, untilDone } from "../../../src/views/indexing.ts"
import { open } from "../../../src/views/open.ts"
import { Archive } from "../../support/archive.ts"

test("a text that is forgotten between archiving and indexing does not get into the views", () => {
  using archive = new Archive()
  const session = archive.session("one").turn("The word is walrus").flush()
  const place = { dataHome: archive.dataHome, home: archive.root }
  const now = Date.now()
  const taken = captureTranscript(place, session.path, {
    now,
    deadline: Number.POSITIVE_INFINITY,
    lastLine: "whole",
  })
  const word = new TextEncoder().encode("walrus")
  const tombstone = emptyTombstone("one", now)
  const lines: Record<string, FilledSpan[]> = {}
  rewriteCopy(archive.file(taken), (content) => {
    const edited = new Uint8Array(content)
    for (let start = 0; start < edited.length; ) {
      const end = edited.indexOf(0x0a, start)
      const line = edited.subarray(start, end)
      const at = Buffer.from(line).indexOf(word)
      if (at >= 0) {
        const spans: FilledSpan[] = [[at, at + word.length]]
        lines[lineHash(tombstone.key, line)] = spans
        fillSpans(line, spans)
      }
      start = end + 1
    }
    return edited
  })
  writeTombstone(archive.dataHome, { ...tombstone, lines })
  archive.db
    .transaction(() => index(archive.db, archive.dataHome, taken, () => false, taken.fresh))
    .immediate()
  expect(archive.db.query("SELECT prompt FROM turns").all()).toEqual([{ prompt: "The word is ******" }])
})

test("each message is where the views say, also one whose line has no end yet", () => {
  using archive = new Archive()
  const session = archive.session("one").turn("first", [], "One.").flush()
  archive.follow(session)
  session.turn("second", [], "Größer: two.").flush()
  const whole = readFileSync(session.path)
  const places = (): unknown[] => {
    const rows = archive.db
      .query<{ offset: number; length: number }, []>("SELECT offset, length FROM messages ORDER BY offset")
      .all()
    return rows.map(({ offset, length }) => {
      const { message } = JSON.parse(whole.subarray(offset, offset + length).toString())
      return typeof message.content === "string" ? message.content : message.content[0].text
    })
  }
  writeFileSync(session.path, whole.subarray(0, -1))
  archive.follow(session)
  expect(places()).toEqual(["first", "One.", "second", "Größer: two."])
  appendFileSync(session.path, "\n")
  archive.follow(session)
  expect(places()).toEqual(["first", "One.", "second", "Größer: two."])
})

test("views that have followed every copy mark nothing; what they have lost is marked again", () => {
  using archive = new Archive()
  const taken = ["one", "two"].map((id) => archive.follow(archive.session(id).turn("go on").flush()))
  markBehind(archive.db, archive.dataHome)
  expect(listPending(archive.dataHome)).toEqual([])
  archive.db.run("UPDATE transcripts SET indexed = indexed - 1 WHERE copy = ?", [taken[0]!.copy])
  markBehind(archive.db, archive.dataHome)
  expect(listPending(archive.dataHome)).toMatchObject([{ copy: taken[0]!.copy, session: "one" }])
  archive.db.run("DELETE FROM transcripts WHERE copy = ?", [taken[1]!.copy])
  expect(isComplete(archive.db, archive.dataHome)).toBe(false)
  markBehind(archive.db, archive.dataHome)
  expect(listPending(archive.dataHome)).toHaveLength(2)
  // Nothing is lost that waits.
  expect(isComplete(archive.db, archive.dataHome)).toBe(true)
})

test("whether a command shows others' text does not depend on where a transaction ends", () => {
  using archive = new Archive()
  const command = `${"true; ".repeat(80)}cat build.log`
  const line = (uuid: string, type: string, content: unknown): string =>
    `${JSON.stringify({ type, uuid, sessionId: "one", cwd: "/src/app", message: { role: type, content } })}\n`
  const path = join(archive.root, ".claude", "projects", "app", "one.jsonl")
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(
    path,
    line("u1", "user", "go") +
      line("a1", "assistant", [{ type: "tool_use", id: "t1", name: "Bash", input: { command } }]) +
      line("r1", "user", [
        { type: "tool_result", tool_use_id: "t1", content: "make: error: the archive is damaged" },
      ]),
  )
  const place = { dataHome: archive.dataHome, home: archive.root }
  const taken = captureTranscript(place, path, {
    now: 0,
    deadline: Number.POSITIVE_INFINITY,
    lastLine: "whole",
  })
  const { db } = archive
  for (let lines = 0; lines < 3; lines++) {
    let looks = 0
    // Lets one line pass.
    db.transaction(() => index(db, archive.dataHome, taken, () => looks++ > 0)).immediate()
  }
  expect(db.query("SELECT count(*) AS calls FROM tool_calls WHERE result > 0").get()).toEqual({ calls: 1 })
  expect(db.query("SELECT text FROM facts WHERE kind = 'error'").all()).toEqual([])
})

test("a slice whose time is over before the first line is there does one line, so that the next goes on", () => {
  using archive = new Archive()
  const session = archive.session("one").turn("first").turn("second").flush()
  const taken = archive.take(session)
  const slice = (): number =>
    archive.db
      .transaction(() => index(archive.db, archive.dataHome, taken, untilDone(0))!.indexed)
      .immediate()
  let done = 0
  for (let next = slice(); next > done; next = slice()) done = next
  expect(done).toBe(readFileSync(session.path).length)
})

test("between two slices of a long copy, others can write", () => {
  using archive = new Archive()
  const session = archive.session("one")
  for (let n = 0; n < 20; n++) session.turn(`Fire kiln ${n}.`)
  archive.take(session.flush())
  using other = open(archive.dataHome, "write", 0)
  let gaps = 0
  let looks = 0
  const sleep = spyOn(Bun, "sleepSync").mockImplementation(() => {
    other.transaction(() => gaps++).immediate()
  })
  const clock = spyOn(performance, "now").mockImplementation(() => 20 * looks++)
  try {
    expect(catchUp(archive.db, archive.dataHome, Number.POSITIVE_INFINITY)).toBe(0)
  } finally {
    sleep.mockRestore()
    clock.mockRestore()
  }
  expect(gaps).toBeGreaterThan(1)
  expect(archive.count("turns")).toBe(20)
})

test("half a line at the end leaves no marker, however long it took to read: nobody would ever be done with it", () => {
  using archive = new Archive()
  const session = archive.session("one").turn("first").flush()
  appendFileSync(session.path, '{"type":"user","uuid":"half')
  const place = { dataHome: archive.dataHome, home: archive.root }
  const options = { now: 0, deadline: Number.POSITIVE_INFINITY, lastLine: "any" as const }
  const taken = captureTranscript(place, session.path, options)
  const slice = (): number => {
    const work = archive.db.transaction(
      () => index(archive.db, archive.dataHome, taken, untilDone(0))!.indexed,
    )
    const indexed = work.immediate()
    settlePending(archive.dataHome, taken.copy)
    return indexed
  }
  let done = 0
  for (let next = slice(); next > done; next = slice()) done = next
  expect(listPending(archive.dataHome)).toEqual([])
})

const GONE = "60000000-0000-4000-8000-000000000001"

test.each([
  ["first", ["beside", "list"]],
  ["last", ["list", "beside"]],
] as const)("a file beside a transcript that is gone comes %s: the prompts stay", (_when, order) => {
  using archive = new Archive()
  const { db, root } = archive
  const session = archive.session(GONE).turn("sew the topgallant", [], "Sewn with the awl.")
  const list = join(root, ".claude", "history.jsonl")
  const beside = join(session.path.replace(/\.jsonl$/, ""), "tool-results", "b1.txt")
  mkdirSync(dirname(beside), { recursive: true })
  writeFileSync(beside, "the capstan is stuck\n")
  const prompt = { display: "sew the topgallant", pastedContents: {}, timestamp: 1.76e12, project: "/w" }
  writeFileSync(list, `${JSON.stringify({ ...prompt, sessionId: GONE })}\n`)
  const follow = (path: string) => archive.follow({ path } as typeof session)
  const prompts = (): unknown =>
    db.query("SELECT s.prompts_only, t.via FROM sessions s JOIN turns t ON t.session = s.id").values()
  const files = (): number => archive.count("messages WHERE role = 'tool'")
  for (const what of order) follow(what === "list" ? list : beside)
  expect(prompts()).toEqual([[1, "history"]])
  follow(beside)
  // It would go with the prompts when the transcript comes.
  expect(files()).toBe(0)
  follow(session.flush().path)
  follow(beside)
  expect(prompts()).toEqual([[0, "typed"]])
  expect(files()).toBe(1)
})
