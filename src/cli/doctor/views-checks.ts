/**
 * The views: whether SQLite finds them sound, their schema version, how far behind the vault they are, whether every
 * message is in the word index, and how many turns have vectors.
 */

import { existsSync } from "node:fs"
import { isDamage, messageOf } from "../../base/errors.ts"
import { bytes, count } from "../../base/text.ts"
import { standingOf } from "../../find/embed/model-files.ts"
import { backlog } from "../../views/backlog.ts"
import { type Database, databasePath, SCHEMA_VERSION, schemaVersion } from "../../views/database.ts"
import { open } from "../../views/open.ts"
import { malformedLines } from "../../views/queries/transcripts.ts"
import { rebuild } from "../../views/rebuild-views.ts"
import { shapeProblem } from "../../views/schema-shape.ts"
import { wordTotals } from "../../views/word-index.ts"
import { type Finding, finding, type Patient, type Repair, SHOWN } from "./finding.ts"
import { existing } from "./folder-checks.ts"
import { inventoryOf } from "./transcript-checks.ts"

/** Bytes that can be checked in about a second. */
const QUICK = 256 << 20
/** ms to wait for other processes that have the database open. */
const PATIENCE = 5000

export function databaseChecks(patient: Patient): Finding[] {
  const { dataHome } = patient
  const stats = existing(databasePath(dataHome))
  if (stats?.isFile() === false) return [absent(patient, "not a file")]
  const size = stats?.size
  if (size === undefined) return [absent(patient, "missing")]
  // What a power failure may leave. Hooks and commands write the tables at once.
  if (size === 0) return [absent(patient, "empty")]
  try {
    using db = open(dataHome, "check")
    return looked(patient, db, size)
  } catch (error) {
    if (isDamage(error)) return [damaged(dataHome, messageOf(error))]
    return [
      finding("database", "fail", `it cannot be read: ${messageOf(error)}`, {
        hint: "hooks keep archiving without it",
      }),
    ]
  }
}

function absent(patient: Patient, how: string): Finding {
  const { dataHome } = patient
  const { copies } = inventoryOf(patient)
  if (copies().length === 0) return finding("database", "skipped", "there is none yet")
  return finding("database", "fail", `it is ${how}; the vault has everything that was in it`, {
    hint: "ctxbridge rebuild",
    repair: madeAnew(dataHome, `the database was ${how}`),
  })
}

function looked({ dataHome, deep }: Patient, db: Database, size: number): Finding[] {
  const version = schemaVersion(db)
  if (version > SCHEMA_VERSION && shapeProblem(db) === undefined) {
    return [
      finding(
        "database",
        "fail",
        `schema ${version} is newer than this ctxbridge, which knows ${SCHEMA_VERSION}`,
        {
          hint: "update ctxbridge; hooks keep filling the vault meanwhile",
        },
      ),
    ]
  }
  const checked = deep || size <= QUICK
  const wrong = checked ? problemOf(db, deep) : undefined
  if (wrong !== undefined) return [damaged(dataHome, wrong)]
  const schema =
    version < SCHEMA_VERSION
      ? `schema ${version}, which the next command upgrades to ${SCHEMA_VERSION}`
      : `schema ${version}`
  const text = `${bytes(size)}, ${schema}, ${checked ? "valid" : "not checked: --deep does that"}`
  const found = [finding("database", "ok", text)]
  const { views } = backlog(db)
  if (views.bytes > 0) {
    const behind = `${bytes(views.bytes)} of ${count(views.transcripts, "transcript")} are not indexed yet`
    found.push(finding("views", "ok", behind, { hint: "the next command or the background job does it" }))
  }
  if (version === SCHEMA_VERSION) found.push(...unreadableLines(db))
  return found
}

/** Nothing is wrong with the archive then: Claude Code, or whoever wrote the file, has left half a line. */
function unreadableLines(db: Database): Finding[] {
  const all = malformedLines(db)
  if (all.length === 0) return []
  const sum = all.reduce((n, { lines }) => n + lines, 0)
  const saved = all.reduce((n, { rescued }) => n + rescued, 0)
  const text = `${count(sum, "line")} of ${count(all.length, "session")} ${sum === 1 ? "is" : "are"} not JSON`
  const rest = saved === 0 ? "" : `${count(saved, "whole record")} in ${sum === 1 ? "it" : "them"}, and `
  const details = all
    .slice(0, SHOWN)
    .map(
      ({ session, lines, rescued }) =>
        `${session}: ${count(lines, "line")}${rescued === 0 ? "" : `, ${count(rescued, "record")} read from ${lines === 1 ? "it" : "them"}`}`,
    )
  return [
    finding("lines", "ok", `${text}; the vault has the bytes, and ${rest}every other line is read`, {
      details,
    }),
  ]
}

function problemOf(db: Database, deep: boolean): string | undefined {
  const pragma = deep ? "integrity_check" : "quick_check"
  const row = db.query<Record<string, string>, []>(`PRAGMA ${pragma}(1)`).get()
  const said = row?.[pragma]
  return said === "ok" ? shapeProblem(db) : (said ?? "it cannot be checked")
}

const damaged = (dataHome: string, reason: string): Finding =>
  finding("database", "fail", `it is damaged: ${reason}`, {
    hint: "ctxbridge rebuild makes a new one from the vault, which does not need it",
    repair: madeAnew(dataHome, reason),
  })

const madeAnew = (dataHome: string, reason: string): Repair => ({
  what: "rebuild the database from the vault",
  run() {
    rebuild(dataHome, { now: Date.now(), wait: PATIENCE, reason })
  },
})

/** The data behind searches. */
export function searchChecks({ dataHome }: Patient): Finding[] {
  if (!existsSync(databasePath(dataHome))) return [finding("words", "skipped", "nothing is indexed yet")]
  try {
    using db = open(dataHome, "check")
    if (schemaVersion(db) !== SCHEMA_VERSION) {
      return [finding("words", "skipped", "the views are of another version")]
    }
    return [words(dataHome, wordTotals(db)), vectors(standingOf(db, dataHome))]
  } catch (error) {
    // The `database` check reports it and offers the repair.
    if (isDamage(error)) return [finding("words", "skipped", "the database is damaged")]
    throw error
  }
}

function words(dataHome: string, { messages, indexed, cold }: ReturnType<typeof wordTotals>): Finding {
  if (indexed + cold === messages) {
    const all = cold === 0 ? "all in the word index" : `all but ${cold} cold ones in the word index`
    return finding("words", "ok", `${count(messages, "message")}, ${all}`)
  }
  return finding("words", "fail", `the word index has ${indexed} messages, the views have ${messages}`, {
    hint: "ctxbridge rebuild makes a new one from the vault",
    repair: madeAnew(dataHome, "the word index was incomplete"),
  })
}

function vectors({ model, embedder, problem, embedded, turns }: ReturnType<typeof standingOf>): Finding {
  if (problem !== null) {
    return finding("vectors", "warn", `the installed model is not used: ${problem}`, {
      hint: "ctxbridge model install",
    })
  }
  const by = model === null ? "hashed words, since there is no model" : embedder
  return finding("vectors", "ok", `${embedded} of ${count(turns, "turn")}, by ${by}`)
}
