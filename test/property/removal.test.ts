/** Views that followed a removal say what views say that were made anew, and their file holds nothing of what is gone. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { cpSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { vaultFile } from "../../src/vault/layout.ts"
import { rewriteCopy } from "../../src/vault/rewrite.ts"
import { databasePath } from "../../src/views/database.ts"
import { open } from "../../src/views/open.ts"
import { rebuild } from "../../src/views/rebuild-views.ts"
import { followRemoval, type Removed } from "../../src/views/removal.ts"
import { packVectors, putVectors } from "../../src/views/vectors.ts"
import { sources } from "../../src/views/view-sources.ts"
import { Archive } from "../support/archive.ts"
import { contentOf } from "../support/machine.ts"
import { Transcript } from "../support/transcript.ts"
import { namedSearch, namedViews } from "../support/views.ts"

setDefaultTimeout(120_000)

const SESSIONS = [0, 1, 2, 3]
const idOf = (n: number): string => `5e551011-0000-4000-8000-00000000000${n}`
/** Begins unlike any other word, so that no list of words can hold a part of it only. */
const wordOf = (n: number): string =>
  Bun.hash.xxHash64(`word ${n}`, 0n).toString(36).replace(/\d/g, "q").slice(0, 11)

const step = fc.record({
  session: fc.constantFrom(...SESSIONS),
  what: fc.constantFrom(
    "turn",
    "turn",
    "edit",
    "boundary",
    "fork",
    "fork",
    "agent",
    "rewrite",
    "mark",
    "rewind",
  ),
})

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** @returns the words that were said */
function play(archive: Archive, steps: readonly Step[]): string[] {
  const sessions = SESSIONS.map((n) =>
    archive.session(idOf(n), { cwd: join(archive.root, `project-${n % 2}`) }),
  )
  const begun = new Set<number>()
  const marks = SESSIONS.map((): string | null => null)
  for (const [n, { session, what }] of steps.entries()) {
    const transcript = sessions[session]!
    const word = wordOf(n)
    if (what === "boundary") transcript.boundary().summary(`summary ${word}`)
    else if (what === "agent") {
      const path = join(
        archive.root,
        ".claude/projects/-project",
        idOf(session),
        `subagents/agent-a${n}.jsonl`,
      )
      const options = { ...transcript.options, agent: `a${n}`, path }
      // One that continues from the conversation begins with its lines. A fork's may be read before the fork.
      const own = new Transcript(options)
      const next = steps.slice(n).find((later) => later.session === session && later.what !== "agent")
      const isForks = next === undefined || next.what === "fork"
      const from = [session, ...(isForks ? [session - 1] : [])].find((one) => begun.has(one))
      if (from !== undefined) own.raw(readFileSync(sessions[from]!.path, "utf8").trimEnd())
      archive.follow(own.turn(`brief ${word}`).flush())
      continue
    } else if (what === "fork" && session > 0 && !begun.has(session) && begun.has(session - 1)) {
      const parent = sessions[session - 1]!
      parent.turn(`shared ${word}`).flush()
      archive.follow(parent)
      transcript.raw(readFileSync(parent.path, "utf8").trimEnd())
    } else if (what === "mark") marks[session] = transcript.tip
    else if (what === "rewind") transcript.backTo(marks[session]!).turn(`instead ${word}`)
    else if (what === "rewrite") {
      archive.follow(transcript.turn(`before ${word}`).flush())
      writeFileSync(transcript.path, "")
      transcript.turn(`anew ${word}`)
    } else {
      const edit = { tool: "Edit", input: { file_path: `/src/${word}.ts` }, output: `ok ${word}` }
      const todos = {
        tool: "TodoWrite",
        input: { todos: [{ content: word, status: "pending" }] },
        output: "",
      }
      transcript.turn(`Never say ${word} to anyone. Always ${n}.`, what === "edit" ? [edit, todos] : [])
    }
    begun.add(session)
    archive.follow(transcript.flush())
  }
  return steps.map((_, n) => wordOf(n))
}

/** As if the background job had made them: a vector for each message. */
function embed(dataHome: string): void {
  const db = open(dataHome, "write", 0)
  const rows = db
    .query<{ turn: number; last: number; ids: string }, []>(
      `SELECT t.id AS turn, t.last, group_concat(m.id) AS ids FROM turns t JOIN messages m ON m.turn = t.id
       GROUP BY t.id`,
    )
    .all()
  putVectors(
    db,
    rows.map(({ turn, last, ids }) => {
      const data = Int8Array.of(turn % 100, 1, 2, 3)
      const vectors = ids.split(",").map((id) => ({ message: Number(id), scale: 0.001, data }))
      return { turn, last, embedder: "e", dimension: 4, vectors: packVectors(vectors, 4) }
    }),
  )
  db.close()
}

const viewsOf = (dataHome: string) => {
  const db = open(dataHome, "write", 0)
  try {
    return { ...namedViews(db), ...namedSearch(db) }
  } finally {
    db.close()
  }
}

/** Takes sessions, a subagent or a word out of the vault, and tells of which session what was removed. */
function remove(
  { dataHome }: Archive,
  { session, way }: { session: number; way: "session" | "agents" | "word" },
  word: string,
): (id: string) => Removed | undefined {
  const id = idOf(session)
  const isOf = (one: string): boolean =>
    way === "agents" ? one.startsWith(`${id}/`) : one === id || one.startsWith(`${id}/`)
  for (const { copy } of sources(dataHome).filter((source) => isOf(source.session))) {
    const file = vaultFile(dataHome, copy)
    if (way !== "word") rmSync(file)
    else
      rewriteCopy(file, (content) =>
        Buffer.from(
          Buffer.from(content).toString("latin1").replaceAll(word, "*".repeat(word.length)),
          "latin1",
        ),
      )
  }
  return (one) => (isOf(one) ? (way === "word" ? "text" : "whole") : undefined)
}

test("sessions, forks, subagents, compactions, rewritten transcripts", () => {
  const removal = fc.record({
    session: fc.constantFrom(...SESSIONS),
    way: fc.constantFrom("session" as const, "session" as const, "agents" as const, "word" as const),
  })
  fc.assert(
    fc.property(fc.array(step, { minLength: 4, maxLength: 24 }), removal, (steps, what) => {
      using archive = new Archive()
      const words = play(archive, steps)
      archive.db.close()
      // The order of arrival, in which a rebuild reads.
      rebuild(archive.dataHome, { now: 1, wait: 0 })
      embed(archive.dataHome)
      const file = databasePath(archive.dataHome)
      const { ino } = statSync(file)
      const removed = remove(archive, what, words[0]!)
      const other = join(archive.root, "rebuilt")
      cpSync(archive.dataHome, other, { recursive: true })
      const report = followRemoval(archive.dataHome, removed, { now: 1, wait: 0, most: 1 })
      expect(report).toMatchObject({ unreadable: [], damaged: null })
      expect(statSync(file).ino).toBe(ino)

      const kept = sources(archive.dataHome).map(({ copy }) => contentOf(vaultFile(archive.dataHome, copy)))
      const bytes = readFileSync(file)
      for (const word of words)
        if (!kept.some((content) => content.includes(word))) expect(bytes.includes(word.slice(3))).toBe(false)
      rebuild(other, { now: 1, wait: 0, isRemoved: (one) => removed(one) !== undefined })
      expect(viewsOf(archive.dataHome)).toEqual(viewsOf(other))
    }),
    {
      numRuns: 40,
      examples: [
        // A fork's subagent whose lines are all known when it is read, and are its own once the session is gone.
        [
          [
            { session: 0, what: "turn" },
            { session: 1, what: "agent" },
            { session: 1, what: "fork" },
          ],
          { session: 0, way: "session" },
        ],
      ],
    },
  )
})
