/** `ctxbridge purge`: forgets sessions that have been silent for a long time. */

import { usageError } from "../../base/errors.ts"
import { leaving, silentSince } from "../../job/forget-sessions.ts"
import type { Database } from "../../views/database.ts"
import { openCurrent } from "../../views/open-current.ts"
import { promptsOnlySessions, sessionsByEnd } from "../../views/queries/sessions.ts"
import { knownCopies } from "../../views/transcript-rows.ts"
import { stringArg } from "../args.ts"
import { type Command, flag, option } from "../command.ts"
import { YES_ARG } from "../confirm.ts"
import { ageOf } from "../screen.ts"
import { finishFormer, leave } from "./forget.ts"

export default {
  meta: { name: "purge", description: "Forget sessions that ended long ago" },
  args: {
    "older-than": option("Age of the last turn: hours, days, weeks or years", "90d|12w|1y"),
    "dry-run": flag("Show what would be removed; write nothing"),
    ...YES_ARG,
  },
  run(context) {
    const { args, env } = context
    const word = stringArg(args, "older-than")
    const age = word === undefined ? undefined : ageOf(word)
    if (age === undefined) {
      const given = word === undefined ? "" : `, not ${JSON.stringify(word)}`
      throw usageError(`--older-than needs an age${given}`, "such as 90d: a number and one of h, d, w, y")
    }
    finishFormer(context)
    const { ended, promptsOnly, known } = sessionsKnown(env.dataHome)
    const old = silentSince(env.dataHome, Date.now() - age, ended, promptsOnly, known)
    return leave(context, leaving(env.dataHome, old), [])
  },
} satisfies Command

/** Closes the views before anything is removed from them. */
function sessionsKnown(dataHome: string) {
  using db = openCurrent(dataHome, "command")
  return { ended: endsOf(db), promptsOnly: promptsOnlySessions(db), known: knownCopies(db) }
}

/** When each session ended, in ms since the epoch. */
function endsOf(db: Database): Map<string, number> {
  const dated = sessionsByEnd(db).map(({ id, ended }) => [id, Date.parse(ended ?? "")] as const)
  return new Map(dated.filter(([, time]) => !Number.isNaN(time)))
}
