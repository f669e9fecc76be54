/**
 * What a restore gives from other sessions. It should give nothing for unrelated prompts,
 * and for prompts that continue another session, the turn they continue from.
 */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder, untilHeard } from "../../src/base/temporary.ts"
import { relatedTurns } from "../../src/find/related-turns.ts"
import { importTranscripts } from "../../src/job/import-transcripts.ts"
import { HANDLE_PREFIX } from "../../src/record/our-marks.ts"
import { restoreOf } from "../../src/restore/restore.ts"
import { FILTERED } from "../../src/secrets/filter.ts"
import type { Database } from "../../src/views/database.ts"
import { open } from "../../src/views/open.ts"
import type { Conversation } from "../recall/conversations.ts"
import { comparable, shows } from "../recall/scores.ts"
import { longPrompts, RELATED, UNRELATED } from "./prompts.ts"
import { type Said, SESSIONS } from "./sessions.ts"
import { writeSession } from "./write-session.ts"

export interface Tally {
  readonly prompts: number
  /** Prompts for which something from another session was given. */
  readonly answered: number
  /** Prompts for which the right turn was given. */
  readonly right: number
  /** Turns that were given, and how many of them were right. */
  readonly turns: number
  readonly rightTurns: number
  /** How much was given, in UTF-16 units. */
  readonly characters: number
}

export interface RelatedReport {
  readonly unrelated: Tally
  readonly related: Tally
}

/** What was given for a prompt: one text per turn. */
interface Given {
  readonly turns: readonly string[]
  isRight(turn: string): boolean
}

/** Other sessions' turns in a restore; the default. */
const MOST = 3
const BUDGET = 4000
const SEED = 11
const SECTION = /\n## Related turns [^\n]*((?:\n- [^\n]*)+)/

/** The session that is restored. Nothing in it says what it is about. */
const HERE: readonly Said[] = [{ prompt: "hello", answer: "Hello! What shall we do?" }]

/** Uses the sessions and prompts in this folder, and complete restores. */
export async function countRelated(): Promise<RelatedReport> {
  return inFolder(async (work) => {
    const { dataHome, here } = shopIn(work)
    await untilHeard()
    const db = open(dataHome, "write", 0)
    try {
      const turns = (prompt: string): string[] => relatedIn(db, here, prompt)
      const controls = [...UNRELATED, ...longPrompts(SEED)]
      return {
        unrelated: tally(controls.map((prompt) => ({ turns: turns(prompt), isRight: () => false }))),
        related: tally(
          RELATED.map(({ prompt, session, turn }) => {
            const handle = handleOf(db, SESSIONS[session][turn]!.prompt)
            return { turns: turns(prompt), isRight: (line) => line.startsWith(`${handle} `) }
          }),
        ),
      }
    } finally {
      db.close()
    }
  })
}

/**
 * Uses the caller's conversations and questions. Each question is put to its own conversation, whose turns may answer
 * it, and to all others, which know nothing of it.
 */
export async function countRelatedIn(
  conversations: readonly Conversation[],
  onProgress?: (label: string, done: number, total: number) => void,
): Promise<RelatedReport> {
  return inFolder(async (work) => {
    const unrelated: Given[] = []
    const related: Given[] = []
    for (const [n, conversation] of conversations.entries()) {
      const dataHome = join(work, conversation.name)
      mkdirSync(dataHome)
      archive(work, dataHome, conversation.transcripts)
      const db = open(dataHome, "write", 0)
      try {
        for (const other of conversations) {
          await untilHeard()
          for (const { text, evidence } of other.questions ?? []) {
            const turns = turnsFor(db, text)
            if (other !== conversation) {
              unrelated.push({ turns, isRight: () => false })
              continue
            }
            const answers = [...evidence.values()].map(comparable)
            const isRight = (turn: string): boolean => answers.some((one) => shows(comparable(turn), one))
            related.push({ turns, isRight })
          }
        }
      } finally {
        db.close()
      }
      onProgress?.("asking", n + 1, conversations.length)
    }
    return { unrelated: tally(unrelated), related: tally(related) }
  })
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  using folder = temporaryFolder("related")
  return await work(folder.path)
}

function archive(work: string, dataHome: string, transcripts: readonly string[]): void {
  const place = { dataHome, home: work, stateHome: join(work, "state"), secrets: FILTERED, exclude: [] }
  importTranscripts(place, transcripts, { dryRun: false, check: false })
}

/** Archives the sessions in one project, and in another one sessions that contain every prompt verbatim. */
function shopIn(work: string): { dataHome: string; here: string } {
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
  archive(work, dataHome, paths)
  return { dataHome, here }
}

/** The lines that a restore gives from other sessions. */
function relatedIn(db: Database, session: string, prompt: string): string[] {
  const options = { source: "compact", budget: BUDGET, summary: "", related: MOST } as const
  const { text } = restoreOf(db, session, options, { text: prompt, at: 0 })
  return (SECTION.exec(text)?.[1] ?? "").split("\n- ").slice(1)
}

const handleOf = (db: Database, prompt: string): string =>
  HANDLE_PREFIX +
  db
    .query<{ handle: string }, [string]>("SELECT handle FROM turns WHERE prompt = ? ORDER BY id LIMIT 1")
    .get(prompt)!.handle

/** Prompt and answer of each turn that qualifies for the question, in all projects of the archive. */
function turnsFor(db: Database, prompt: string): string[] {
  const projects = db.query<{ id: number; path: string }, []>("SELECT id, path FROM projects").all()
  return projects.flatMap(({ id, path }) =>
    relatedTurns(db, { prompt, project: id, name: path, except: [] })
      .slice(0, MOST)
      .map((turn) => `${turn.prompt}\n${turn.answer}`),
  )
}

function tally(all: readonly Given[]): Tally {
  const sum = (pick: (one: Given) => number): number => all.reduce((total, one) => total + pick(one), 0)
  const rightIn = ({ turns, isRight }: Given): number => turns.filter((turn) => isRight(turn)).length
  return {
    prompts: all.length,
    answered: sum(({ turns }) => (turns.length > 0 ? 1 : 0)),
    right: sum((one) => (rightIn(one) > 0 ? 1 : 0)),
    turns: sum(({ turns }) => turns.length),
    rightTurns: sum(rightIn),
    characters: sum(({ turns }) => turns.join("").length),
  }
}
