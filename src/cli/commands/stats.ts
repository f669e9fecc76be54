/** `ctxbridge stats`: tokens, cost and activity; what recurs; what compactions dropped. */

import { openCurrent } from "../../archive/open-current.ts"
import { wantsUnicode } from "../../config/load.ts"
import { writeExport } from "../../export/output-file.ts"
import { statsHtml } from "../../export/stats-html.ts"
import { startRenewing } from "../../job/spawn.ts"
import { PRICES_AS_OF, PRICES_FROM, priceList } from "../../stats/prices.ts"
import { gatherFriction, gatherStats, PERIODS, spanOf } from "../../stats/stats.ts"
import { CtxError, EXIT, usageError } from "../../util/errors.ts"
import { localDate } from "../../util/local-time.ts"
import { resolve } from "../../util/path.ts"
import { bytes } from "../../util/text.ts"
import { oneOf, positive, stringArg, unknownWord } from "../args.ts"
import { type Command, flag, option } from "../command.ts"
import { knownProject, projectWanted } from "../project-wanted.ts"
import { renderFriction, renderStats, type StatsScreen } from "../render-stats.ts"
import { screenOf, timeArg } from "../screen.ts"
import { safe } from "../style.ts"

/** Rows of the table, and tools, files and errors. */
const ROWS = 14
const MOST = 15

export default {
  meta: { name: "stats", description: "Show tokens, cost and activity, and what keeps recurring" },
  args: {
    part: {
      type: "positional",
      description: "friction: only what gets in the way, in more detail",
      valueHint: "friction",
    },
    project: option("Of the project in this folder; by default, of every project", "PATH", "p"),
    since: option("From this date or age on (2026-03-02, 7d)", "WHEN"),
    by: option("Tokens and cost by this (day)", PERIODS.join("|")),
    html: flag("A page for browsers, in one file"),
    output: option("With --html: write it to this file", "FILE", "o"),
    force: flag("Replace that file"),
    limit: option(`At most this many days, tools, files, errors (${ROWS})`, "N", "n"),
  },
  run(context) {
    const { args, env, out } = context
    const part = stringArg(args, "part")
    if (part !== undefined && part !== "friction") throw unknownWord("part", part, ["friction"])
    const isPage = args["html"] === true
    if (isPage && part !== undefined) throw usageError("--html is a page of everything, friction included")
    if (part !== undefined && args["by"] !== undefined)
      throw usageError("--by is about tokens and cost: leave out friction")
    if (!isPage && stringArg(args, "output") !== undefined) throw usageError("--output goes with --html")
    if (isPage && out.wantsJson && stringArg(args, "output") === undefined)
      throw usageError("--json reports on a file that was written", "add --output FILE")
    const now = Date.now()
    const since = timeArg(args, "since", now)
    const by = oneOf(args, "by", PERIODS) ?? "day"
    const limit = positive(args, "limit")
    const place = stringArg(args, "project") === undefined ? undefined : projectWanted(context)
    using db = openCurrent(env.dataHome, "command", startRenewing)
    const project = knownProject(db, context, place)
    const screen: StatsScreen = { ...screenOf(out, now), unicode: wantsUnicode(), today: localDate(now) }
    const scope = { project: project ?? null, since: since ?? null }
    if (part === "friction") {
      const friction = gatherFriction(db, env.dataHome, spanOf(db, { project, since }), limit ?? MOST)
      out.print(renderFriction(friction, { project, limit: limit ?? MOST }, screen))
      out.json({ ...scope, ...friction })
      return
    }
    const stats = gatherStats(
      db,
      env.dataHome,
      { project, since, by, prices: priceList(env.config["stats.prices"]), most: limit ?? MOST },
      (done, total) => out.progress("compactions", done, total),
    )
    if (stats.sessions === 0) {
      throw new CtxError("nothing-archived", "there is nothing to sum up here", {
        hint: since === undefined ? "ctxbridge import archives what already exists" : "leave out --since",
        exit: EXIT.notFound,
      })
    }
    if (isPage) {
      const page = new TextEncoder().encode(statsHtml(stats, { project, today: screen.today }))
      const target = stringArg(args, "output")
      if (target === undefined) {
        out.raw(page)
        return
      }
      const file = resolve(env.cwd, target)
      const size = writeExport(file, [page], args["force"] === true)
      out.print(`${bytes(size)} written to ${safe(file)}`)
      out.json({ file, bytes: size })
      return
    }
    out.print(renderStats(stats, { project, limit: limit ?? ROWS }, screen))
    out.json({ ...scope, prices: { asOf: PRICES_AS_OF, from: PRICES_FROM }, ...stats })
  },
} satisfies Command
