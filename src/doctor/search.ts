/** The data behind searches: whether every message is in the word index, and how many turns have vectors. */
import { existsSync } from "node:fs"
import { databasePath, openDatabase, SCHEMA_VERSION, schemaVersion } from "../archive/database.ts"
import { wordTotals } from "../archive/word-index.ts"
import { standingOf } from "../embed/standing.ts"
import { isDamage } from "../util/errors.ts"
import { count } from "../util/text.ts"
import { madeAnew } from "./database.ts"
import { type Finding, finding, type Patient } from "./finding.ts"

export function searchChecks({ dataHome }: Patient): Finding[] {
  if (!existsSync(databasePath(dataHome))) return [finding("words", "skipped", "nothing is indexed yet")]
  try {
    const db = openDatabase(dataHome, { wait: 1000, readonly: true })
    try {
      if (schemaVersion(db) !== SCHEMA_VERSION) {
        return [finding("words", "skipped", "the views are of another version")]
      }
      return [words(dataHome, wordTotals(db)), vectors(standingOf(db, dataHome))]
    } finally {
      db.close()
    }
  } catch (error) {
    // The `database` check reports it and offers the repair.
    if (isDamage(error)) return [finding("words", "skipped", "the database is damaged")]
    throw error
  }
}

function words(dataHome: string, { messages, indexed }: ReturnType<typeof wordTotals>): Finding {
  if (indexed === messages)
    return finding("words", "ok", `${count(messages, "message")}, all in the word index`)
  return finding("words", "fail", `the word index has ${indexed} messages, the views have ${messages}`, {
    hint: "ctxbridge rebuild makes a new one from the vault",
    repair: madeAnew(dataHome, "the word index was incomplete"),
  })
}

function vectors({ model, embedder, problem, embedded, turns }: ReturnType<typeof standingOf>): Finding {
  if (problem !== null) {
    return finding("vectors", "warn", `the installed model is not used: ${problem}`, {
      hint: "ctxbridge model install --from DIR",
    })
  }
  const by = model === null ? "hashed words, since no model is installed" : embedder
  return finding("vectors", "ok", `${embedded} of ${count(turns, "turn")}, by ${by}`)
}
