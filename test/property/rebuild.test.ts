/** Views made anew from the vault say what the views say that followed Claude Code. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { open } from "../../src/views/open.ts"
import { rebuild } from "../../src/views/rebuild-views.ts"
import { Archive } from "../support/archive.ts"
import { transcriptFiles } from "../support/real.ts"
import { Transcript } from "../support/transcript.ts"
import { dumpViews, namedViews } from "../support/views.ts"

setDefaultTimeout(60_000)

const EDIT = { tool: "Edit", input: { file_path: "/src/client.ts" }, output: "ok" }
const FAILING = { tool: "Bash", input: { command: "npm test" }, output: "Exit code 1", isError: true }

const again = (archive: Archive) => {
  const before = { named: namedViews(archive.db), dump: dumpViews(archive.db) }
  archive.db.close()
  const report = rebuild(archive.dataHome, { now: Date.now(), wait: 0 })
  const db = open(archive.dataHome, "write", 0)
  try {
    return { before, report, after: { named: namedViews(db), dump: dumpViews(db) } }
  } finally {
    db.close()
  }
}

/** What happens to one of three sessions: it grows, is compacted, forks the one before, is written or taken back, anew. */
const step = fc.record({
  session: fc.nat(2),
  what: fc.constantFrom(
    "turn",
    "turn",
    "edit",
    "fail",
    "boundary",
    "fork",
    "agent",
    "rewrite",
    "rewrite unseen",
    "mark",
    "rewind",
    "cost",
    "broken",
  ),
})

test("sessions, forks, subagents, compactions, rewritten transcripts", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), (steps) => {
      using archive = new Archive()
      const sessions = [0, 1, 2].map((n) => archive.session(`5e551011-0000-4000-8000-00000000000${n}`))
      const begun = new Set<number>()
      const marks = [0, 1, 2].map((): string | null => null)
      for (const [n, { session, what }] of steps.entries()) {
        const transcript = sessions[session]!
        if (what === "boundary") transcript.boundary().summary(`summary ${n}`)
        else if (what === "cost") {
          const cost = { totalCostUSD: n / 10, totalDuration: n, startTime: session }
          transcript.line({ type: n % 2 === 0 ? "cost-state" : "result", ...cost })
        } else if (what === "broken") transcript.raw('{"type":"user","mess')
        else if (what === "agent") {
          // A Claude Code of 2.0: nothing but its lines say whose it is.
          const agent = archive.session(transcript.session, { version: "2.0.76", agent: `a${n}` })
          const path = join(archive.root, ".claude", "projects", "-project", `agent-a${n}.jsonl`)
          const own = new Transcript({ ...agent.options, path })
          archive.follow(own.turn(`brief ${n}`).flush())
          rmSync(path)
          continue
        } else if (what === "fork" && session > 0 && !begun.has(session) && begun.has(session - 1)) {
          const parent = sessions[session - 1]!
          parent.turn(`shared ${n}`).flush()
          archive.follow(parent)
          transcript.raw(readFileSync(parent.path, "utf8").trimEnd())
        } else if (what === "mark") marks[session] = transcript.tip
        else if (what === "rewind") transcript.backTo(marks[session]!).turn(`instead ${n}`, [EDIT])
        else if (what === "rewrite" || what === "rewrite unseen") {
          transcript.turn(`before ${n}`).flush()
          if (what === "rewrite") archive.follow(transcript)
          else archive.take(transcript)
          writeFileSync(transcript.path, "")
          transcript.turn(`anew ${n}`)
        } else {
          const tools = what === "edit" ? [EDIT] : what === "fail" ? [EDIT, FAILING] : []
          transcript.turn(`prompt ${n}. Never do ${n}.`, tools)
        }
        begun.add(session)
        archive.follow(transcript.flush())
      }
      const { before, report, after } = again(archive)
      expect(report).toMatchObject({ unreadable: [], damaged: null })
      expect(after.named).toEqual(before.named)
    }),
    { numRuns: 60 },
  )
})

test("what is no view is kept: what was given back, and who went on after /clear", () => {
  using archive = new Archive()
  archive.follow(archive.session("11111111-0000-4000-8000-000000000000").turn("one").flush())
  archive.db.run(
    "INSERT INTO restores (session, source, mark, time, text) VALUES ('a', 'compact', 'm', 5, 't')",
  )
  archive.db.run("INSERT INTO lineage (child, parent, kind) VALUES ('b', 'a', 'clear')")
  const kept = () => archive.db.query("SELECT * FROM restores").all()
  const restores = kept()
  const { before, after } = again(archive)
  expect(after.named).toEqual(before.named)
  using db = open(archive.dataHome, "write", 0)
  expect(db.query("SELECT * FROM restores").all()).toEqual(restores)
})

const real = transcriptFiles()
test.skipIf(real.length === 0)(
  "real transcripts",
  () => {
    using archive = new Archive()
    for (const [n, file] of real.entries()) {
      const transcript = archive.session(`00000000-0000-4000-8000-${String(n).padStart(12, "0")}`)
      transcript.raw(readFileSync(file, "utf8").trimEnd())
      archive.follow(transcript.flush())
    }
    const { before, after } = again(archive)
    expect(after.named).toEqual(before.named)
  },
  120_000,
)
