/** `ctxbridge receipts`: what each compaction kept, what was given back, and what was lost. */

import { CtxError, EXIT } from "../../base/errors.ts"
import { startRenewing } from "../../job/spawn.ts"
import { tokensOf } from "../../restore/receipt-line.ts"
import { receiptsOf, totalOf } from "../../restore/session-receipts.ts"
import { findSessionByName } from "../../views/by-name.ts"
import { openCurrent } from "../../views/open-current.ts"
import { folderOf } from "../../views/project.ts"
import { positive, stringArg } from "../args.ts"
import { type Command, naming, option } from "../command.ts"
import { knownProject, OF_PROJECT_ARGS, projectWanted } from "../project-wanted.ts"
import { renderReceipts } from "../render-receipts.ts"
import { screenOf } from "../screen.ts"

const LIMIT = 5

export default {
  meta: {
    name: "receipts",
    description: "Show what compactions lost, and what was restored",
  },
  args: {
    session: naming("session", "Of this session", "ID"),
    ...OF_PROJECT_ARGS,
    limit: option(`At most this many, the latest (${LIMIT})`, "N", "n"),
  },
  rows: {
    list: "receipts",
    columns: ["session", "time", "trigger", "preTokens", "characters", "tokens", "delivery"],
    others: ["offset", "kinds"],
  },
  run(context) {
    const { args, env, out } = context
    const limit = positive(args, "limit") ?? LIMIT
    const wanted = stringArg(args, "session")
    const place = projectWanted(context)
    using db = openCurrent(env.dataHome, "command", startRenewing)
    const project = knownProject(db, context, place)
    const session = wanted === undefined ? undefined : findSessionByName(db, wanted).id
    const onProgress = (done: number, total: number): void => out.progress("sessions", done, total)
    const found = receiptsOf(db, env.dataHome, { project, session, limit, onProgress })
    const receipts = found.slice(0, limit)
    const more = found.length > limit
    if (receipts.length === 0) throw nothing(session ?? (project && folderOf(project)))
    const total = totalOf(receipts)
    const screen = screenOf(out)
    out.print(renderReceipts(receipts, total, screen))
    if (more) out.print(`More with --limit ${limit * 5}.`)
    out.json({
      more,
      receipts: receipts.map(({ text: _text, ...receipt }) => ({
        ...receipt,
        tokens: tokensOf(receipt.characters),
      })),
      total,
    })
  },
} satisfies Command

function nothing(place: string | undefined): CtxError {
  const [where, hint] =
    place === undefined
      ? ["", "ctxbridge import archives what already exists"]
      : [` of ${place}`, "ctxbridge receipts --all-projects shows those of every project"]
  return new CtxError("no-compactions", `no compaction${where} is archived`, { hint, exit: EXIT.notFound })
}
