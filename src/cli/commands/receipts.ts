/** `ctxbridge receipts`: what each compaction kept, what was given back, and what was lost. */

import { CtxError, EXIT, usageError } from "../../base/errors.ts"
import { resolve } from "../../base/path.ts"
import { bytes } from "../../base/text.ts"
import { startRenewing } from "../../job/spawn.ts"
import { tokensOf } from "../../restore/explain.ts"
import { receiptsOf, totalOf } from "../../restore/session-receipts.ts"
import { findSessionByName } from "../../views/by-name.ts"
import { openCurrent } from "../../views/open-current.ts"
import { folderOf } from "../../views/project.ts"
import { titlesOf } from "../../views/queries/sessions.ts"
import { positive, stringArg } from "../args.ts"
import { type Command, type Context, flag, naming, option } from "../command.ts"
import { receiptCard } from "../pages/cards.ts"
import { writeExport } from "../pages/output-file.ts"
import { AGENT_ARG, agentWanted, knownProject, PROJECT_ARGS, projectWanted } from "../project-wanted.ts"
import { renderLost, renderReceipt, renderReceipts } from "../render-receipts.ts"
import { screenOf, timeArg } from "../screen.ts"
import { pathShower } from "../shown-path.ts"
import { safe } from "../style.ts"

/** Compactions that are worth a look when one is not enough. */
const SEVERAL = 5

export default {
  meta: {
    name: "receipts",
    description: "Show what compactions lost, and what was restored",
  },
  args: {
    id: { type: "positional", names: "session", description: "Of this session, as with --session" },
    session: naming("session", "Of this session", "ID"),
    ...PROJECT_ARGS,
    agent: AGENT_ARG,
    since: option("Of compactions from this date or age on (2026-03-02, 7d)", "WHEN"),
    limit: option("At most this many, the latest (1)", "N", "n"),
    lost: flag("Name everything that is in neither the summary nor the restore"),
    card: {
      ...flag("The numbers as a picture (SVG) to share, without a word of the archive"),
      file: "output",
    },
    output: option("With --card: write it to this file", "FILE", "o"),
    force: flag("Replace that file"),
  },
  rows: {
    list: "receipts",
    columns: ["session", "time", "trigger", "preTokens", "characters", "tokens", "delivery"],
    others: ["title", "offset", "kinds", "items"],
  },
  run(context) {
    const { args, env, out } = context
    const limit = positive(args, "limit") ?? 1
    const wanted = stringArg(args, "session") ?? stringArg(args, "id")
    if (args["id"] !== undefined && args["session"] !== undefined)
      throw usageError("name one session", "ctxbridge sessions lists them")
    const isCard = args["card"] === true
    const file = stringArg(args, "output")
    if (!isCard && file !== undefined) throw usageError("--output goes with --card")
    if (isCard && out.wantsJson && file === undefined)
      throw usageError("--json reports on a file that was written", "add --output FILE")
    const place = projectWanted({ args: { ...args, session: wanted }, env })
    using db = openCurrent(env.dataHome, "command", startRenewing)
    const project = knownProject(db, context, place)
    const session = wanted === undefined ? undefined : findSessionByName(db, wanted).id
    const onProgress = (done: number, total: number): void => out.progress("sessions", done, total)
    const since = timeArg(args, "since", Date.now())
    const program = agentWanted(args)
    const found = receiptsOf(db, env.dataHome, {
      project,
      session,
      program,
      since,
      limit,
      onProgress,
    }).filter(({ time }) => since === undefined || (time ?? "") >= since)
    const titles = titlesOf(
      db,
      found.map((one) => one.session),
    )
    const receipts = found.slice(0, limit).map((one) => ({ ...one, title: titles.get(one.session) ?? null }))
    const more = found.length > limit
    if (receipts.length === 0)
      throw nothing(session ?? (project && folderOf(project)), stringArg(args, "since"))
    const total = totalOf(receipts)
    const screen = screenOf(out)
    const showPath = pathShower(context)
    if (isCard) writeCard(context, receiptCard(receipts))
    else if (args["lost"] === true)
      out.print(receipts.flatMap((one, n) => [...(n > 0 ? [""] : []), ...renderLost(one, screen, showPath)]))
    else if (limit === 1) out.print(renderReceipt(receipts[0]!, screen, showPath))
    else {
      out.print(renderReceipts(receipts, total, screen))
      if (more) out.print(`More with --limit ${limit * SEVERAL}.`)
    }
    out.json({
      ...(file !== undefined && { card: resolve(env.cwd, file) }),
      more,
      receipts: receipts.map(({ text: _text, ...receipt }) => ({
        ...receipt,
        tokens: tokensOf(receipt.characters),
      })),
      total,
    })
  },
} satisfies Command

/** To the file that was named, or else as it is. */
function writeCard({ args, env, out }: Context, card: Uint8Array): void {
  const named = stringArg(args, "output")
  if (named === undefined) {
    out.raw(card)
    return
  }
  const file = resolve(env.cwd, named)
  const size = writeExport(file, [card], args["force"] === true)
  out.print(`${bytes(size)} written to ${safe(file)}`)
}

function nothing(place: string | undefined, since: string | undefined): CtxError {
  const [where, hint] =
    place === undefined
      ? ["", "ctxbridge import archives what already exists"]
      : [` of ${place}`, "ctxbridge receipts --all-projects shows those of every project"]
  const when = since === undefined ? "" : ` since ${since}`
  return new CtxError("no-compactions", `no compaction${where}${when} is archived`, {
    hint,
    exit: EXIT.notFound,
  })
}
