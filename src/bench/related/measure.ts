/**
 * `ctxbridge bench related`: what a restore gives of other sessions. To prompts that have nothing to do with them it
 * should give nothing; to those that go on where one of them was, the turn that they go on from.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs"
import { join } from "node:path"
import { type Database, openDatabase } from "../../archive/database.ts"
import { HANDLE_PREFIX } from "../../archive/handle-prefix.ts"
import { importTranscripts } from "../../job/import.ts"
import { restoreOf } from "../../restore/restore.ts"
import { relatedTurns } from "../../search/related.ts"
import { FILTERED } from "../../util/secrets.ts"
import type { Conversation } from "../recall/locomo.ts"
import { comparable, shows } from "../recall/question.ts"
import { writeSession } from "./archive.ts"
import { longPrompts, RELATED, UNRELATED } from "./prompts.ts"
import { type Said, SESSIONS } from "./sessions.ts"

export interface RelatedReport {
  readonly unrelated: {
    readonly prompts: number
    /** Those to which something of another session was given. */
    readonly answered: number
    /** UTF-16 units that were given to them. */
    readonly characters: number
  }
  readonly related: {
    readonly prompts: number
    /** Those to which the right turn was given. */
    readonly right: number
    readonly lines: number
    readonly rightLines: number
  }
}

/** Turns of other sessions in a restore, as by default. */
const MOST = 3
const BUDGET = 4000
const SEED = 11
const SECTION = /\n## Related turns [^\n]*((?:\n- [^\n]*)+)/

/** The session that is restored: nothing in it says what it is about. */
const HERE: readonly Said[] = [{ prompt: "hello", answer: "Hello! What shall we do?" }]

/** With the sessions and prompts beside this file. */
export function benchRelated(temp: string): RelatedReport {
  const work = realpathSync(mkdtempSync(join(temp, "ctxbridge-related-")))
  try {
    const { dataHome, here } = archiveIn(work)
    const db = openDatabase(dataHome, { wait: 0 })
    try {
      const given = (prompt: string): string => relatedSection(db, here, prompt)
      const controls = [...UNRELATED, ...longPrompts(SEED)].map(given)
      const right = RELATED.map(({ prompt, session, turn }) => ({
        lines: linesOf(given(prompt)),
        handle: handleOf(db, SESSIONS[session][turn]!.prompt),
      }))
      return {
        unrelated: {
          prompts: controls.length,
          answered: controls.filter((text) => text !== "").length,
          characters: controls.reduce((sum, { length }) => sum + length, 0),
        },
        related: {
          prompts: right.length,
          right: right.filter(({ lines, handle }) => lines.some((line) => line.startsWith(handle))).length,
          lines: right.reduce((sum, { lines }) => sum + lines.length, 0),
          rightLines: right.reduce(
            (sum, { lines, handle }) => sum + lines.filter((line) => line.startsWith(handle)).length,
            0,
          ),
        },
      }
    } finally {
      db.close()
    }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** The sessions in one project; in another one, sessions that say every prompt word for word. */
function archiveIn(work: string): { dataHome: string; here: string } {
  const dataHome = join(work, "data")
  mkdirSync(dataHome)
  const paths: string[] = []
  const write = (project: string, turns: readonly Said[]): string => {
    const id = `5e1a7ed0-0000-4000-8000-${String(paths.length).padStart(12, "0")}`
    const path = join(work, ".claude", "projects", `-${project}`, `${id}.jsonl`)
    writeSession(path, id, join(work, project), turns, paths.length)
    paths.push(path)
    return id
  }
  for (const turns of Object.values(SESSIONS)) write("shop", turns)
  for (const prompt of [...UNRELATED, ...RELATED.map((one) => one.prompt)]) {
    write("elsewhere", [{ prompt, answer: `Answer to: ${prompt}` }])
  }
  const here = write("shop", HERE)
  const place = { dataHome, home: work, stateHome: join(work, "state"), secrets: FILTERED }
  importTranscripts(place, paths, { dryRun: false, check: false })
  return { dataHome, here }
}

/** What of a restore comes from other sessions, its title included. */
function relatedSection(db: Database, session: string, prompt: string): string {
  const options = { source: "compact", budget: BUDGET, summary: "", related: MOST } as const
  return SECTION.exec(restoreOf(db, session, options, { text: prompt, at: 0 }).text)?.[0] ?? ""
}

const linesOf = (section: string): string[] => section.split("\n- ").slice(1)

const handleOf = (db: Database, prompt: string): string =>
  HANDLE_PREFIX +
  (db
    .query<{ handle: string }, [string]>("SELECT handle FROM turns WHERE prompt = ? ORDER BY id LIMIT 1")
    .get(prompt)?.handle ?? "")

/**
 * With conversations and questions of their own: each question is put to its conversation, whose turns may answer it, and to
 * all others, which know nothing of it.
 */
export function benchRelatedTo(
  conversations: readonly Conversation[],
  temp: string,
  onProgress?: (label: string, done: number, total: number) => void,
): RelatedReport {
  const work = realpathSync(mkdtempSync(join(temp, "ctxbridge-related-")))
  const unrelated = { prompts: 0, answered: 0, characters: 0 }
  const related = { prompts: 0, right: 0, lines: 0, rightLines: 0 }
  try {
    for (const [n, conversation] of conversations.entries()) {
      const dataHome = join(work, conversation.name)
      mkdirSync(dataHome)
      const place = { dataHome, home: work, stateHome: join(work, "state"), secrets: FILTERED }
      importTranscripts(place, conversation.transcripts, { dryRun: false, check: false })
      const db = openDatabase(dataHome, { wait: 0 })
      try {
        const given = (prompt: string): string[] => turnsGiven(db, prompt)
        for (const other of conversations) {
          for (const { text, evidence } of other.questions ?? []) {
            const turns = given(text)
            if (other !== conversation) {
              unrelated.prompts++
              unrelated.answered += turns.length > 0 ? 1 : 0
              unrelated.characters += turns.reduce((sum, { length }) => sum + length, 0)
              continue
            }
            const answers = [...evidence.values()].map(comparable)
            const right = turns.filter((turn) => answers.some((one) => shows(comparable(turn), one))).length
            related.prompts++
            related.right += right > 0 ? 1 : 0
            related.lines += turns.length
            related.rightLines += right
          }
        }
      } finally {
        db.close()
      }
      onProgress?.("asking", n + 1, conversations.length)
    }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  return { unrelated, related }
}

/** Prompt and answer of each turn that the question lets through, in every project of the archive. */
function turnsGiven(db: Database, prompt: string): string[] {
  const projects = db.query<{ id: number; path: string }, []>("SELECT id, path FROM projects").all()
  return projects.flatMap(({ id, path }) =>
    relatedTurns(db, { prompt, project: id, name: path, except: [] })
      .slice(0, MOST)
      .map((turn) => `${turn.prompt}\n${turn.answer}`),
  )
}
