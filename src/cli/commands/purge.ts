/** `ctxbridge purge`: forgets sessions that have been silent for a long time. */
import { openForReading } from "../../archive/open-for-reading.ts"
import { sessionsByEnd } from "../../archive/queries/sessions.ts"
import { leaving, silentSince } from "../../job/forget-sessions.ts"
import { usageError } from "../../util/errors.ts"
import { stringArg } from "../args.ts"
import type { Command } from "../command.ts"
import { YES_ARG } from "../confirm.ts"
import { ageOf } from "../when.ts"
import { finishFormer, leave } from "./forget.ts"

export default {
  meta: { name: "purge", description: "Forget whole sessions whose last turn was long ago" },
  args: {
    "older-than": {
      type: "string",
      description: "Age of the last turn: hours, days, weeks or years",
      valueHint: "90d|12w|1y",
    },
    "dry-run": { type: "boolean", description: "Show what would be removed; write nothing" },
    ...YES_ARG,
  },
  run(context) {
    const { args, env, out } = context
    const word = stringArg(args, "older-than")
    const age = word === undefined ? undefined : ageOf(word)
    if (age === undefined) {
      const given = word === undefined ? "" : `, not ${JSON.stringify(word)}`
      throw usageError(`--older-than needs an age${given}`, "such as 90d: a number and one of h, d, w, y")
    }
    finishFormer(context)
    const db = openForReading(env.dataHome)
    const ended = new Map<string, number>()
    try {
      for (const { id, ended: time } of sessionsByEnd(db)) {
        const ms = time === null ? Number.NaN : Date.parse(time)
        if (!Number.isNaN(ms)) ended.set(id, ms)
      }
    } finally {
      db.close()
    }
    const old = silentSince(env.dataHome, Date.now() - age, ended)
    return leave(context, leaving(env.dataHome, old), args["dry-run"] === true, [], out)
  },
} satisfies Command
