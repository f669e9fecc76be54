/** An archive to which everything happens that changes turns: for followers of its changes. */
import { readFileSync, rmSync } from "node:fs"
import fc from "fast-check"
import { vaultFile } from "../../src/vault/layout.ts"
import { rewriteCopy } from "../../src/vault/rewrite.ts"
import { emptyTombstone, readTombstone, writeTombstone } from "../../src/vault/tombstones.ts"
import { open } from "../../src/views/open.ts"
import { rebuild } from "../../src/views/rebuild-views.ts"
import { followRemoval } from "../../src/views/removal.ts"
import { sources } from "../../src/views/view-sources.ts"
import { Archive } from "./archive.ts"
import type { Transcript } from "./transcript.ts"

const SESSIONS = [0, 1, 2]
const idOf = (n: number): string => `5e551011-0000-4000-8000-00000000000${n}`
/** What is said in step `n`, and what is only thought. */
export const wordOf = (n: number): string => `word${n}x`

export const changingStep = fc.record({
  session: fc.constantFrom(...SESSIONS),
  what: fc.constantFrom("turn", "grow", "rewind", "fork", "forget", "word", "rebuild", "look", "look"),
})

export type Step = typeof changingStep extends fc.Arbitrary<infer T> ? T : never

export class ChangingArchive {
  readonly archive = new Archive()
  readonly transcripts: Transcript[] = SESSIONS.map((n) => this.archive.session(idOf(n)))
  readonly begun = new Set<number>()
  /** What the latest prompts follow. */
  readonly marks = SESSIONS.map((): (string | null)[] => [])
  play({ session, what }: Step, n: number): void {
    const transcript = this.transcripts[session]!
    const word = wordOf(n)
    if (what === "look") return
    if (what === "rebuild") this.#closed(() => rebuild(this.archive.dataHome, { now: 0, wait: 0 }))
    else if (what === "forget" || what === "word") this.#forget(session, what, n)
    else {
      const parent = this.transcripts[session - 1]
      const mark = this.marks[session]!.at(-1) ?? null
      if (what === "rewind" && mark !== null) transcript.backTo(mark).turn(`instead ${word}`)
      else if (what === "grow" && this.begun.has(session)) transcript.say(`more ${word}`)
      else if (
        what === "fork" &&
        parent !== undefined &&
        this.begun.has(session - 1) &&
        !this.begun.has(session)
      )
        transcript.raw(readFileSync(parent.path, "utf8").trimEnd())
      else {
        this.marks[session]!.push(transcript.tip)
        const run = { tool: "Bash", input: { command: `run ${word}` }, output: "ok" }
        transcript.user(`do ${word}`).message().think(`hidden${n}x`).step(run).say("done")
      }
      this.begun.add(session)
      this.archive.follow(transcript.flush())
    }
  }

  /** Takes a session, or the latest word said in it, out of the vault. */
  #forget(session: number, what: "forget" | "word", n: number): void {
    if (!this.begun.has(session)) return
    const { dataHome } = this.archive
    const its = this.transcripts[session]!.session
    // Of what was thought, the row of the turn has nothing.
    const words = Array.from({ length: n }, (_, one) => (n % 2 === 0 ? wordOf(one) : `hidden${one}x`))
    for (const { copy } of sources(dataHome).filter((one) => one.session === its)) {
      const file = vaultFile(dataHome, copy)
      if (what === "forget") rmSync(file)
      else
        rewriteCopy(file, (content) => {
          const text = Buffer.from(content).toString("latin1")
          const last = words.findLast((word) => text.includes(word)) ?? "nothing"
          return Buffer.from(text.replaceAll(last, "*".repeat(last.length)), "latin1")
        })
    }
    const kind = what === "forget" ? "whole" : "text"
    // `redact` fills without a tombstone.
    const isRedacted = what === "word" && n % 3 === 0
    const tombstone = readTombstone(dataHome, its) ?? emptyTombstone(its, n)
    if (!isRedacted) writeTombstone(dataHome, { ...tombstone, whole: what === "forget", time: n })
    this.#closed(() =>
      followRemoval(dataHome, (id) => (id === its ? kind : undefined), {
        now: 0,
        wait: 0,
        most: 1,
      }),
    )
    // Claude Code goes on in another file.
    if (what !== "forget") return
    this.begun.delete(session)
    const id = `${idOf(session).slice(0, -4)}${String(n).padStart(4, "0")}`
    this.transcripts[session] = this.archive.session(id)
    this.marks[session] = []
  }

  #closed(work: () => unknown): void {
    this.archive.db.close()
    work()
    Object.assign(this.archive, { db: open(this.archive.dataHome, "write", 0) })
  }
}
