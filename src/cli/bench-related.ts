/** `ctxbridge bench related`: what restores give from other sessions, and whether they stay silent when due. */
import { resolve } from "node:path"
import { conversationsIn } from "../bench/recall/locomo.ts"
import { benchRelated, benchRelatedTo, type RelatedReport } from "../bench/related/measure.ts"
import { CtxError, EXIT } from "../util/errors.ts"
import { stringArg } from "./args.ts"
import type { Context } from "./command.ts"
import { createStyle } from "./style.ts"
import { renderTable } from "./text-table.ts"

export async function related({ args, out, env }: Context): Promise<number> {
  const data = stringArg(args, "data")
  const report = await (data === undefined ? benchRelated() : withQuestions(resolve(env.cwd, data), out))
  for (const line of renderTable(
    [
      { title: "prompts" },
      ...["n", "answered", "right", "turns", "of them right"].map((title) => ({
        title,
        align: "right" as const,
      })),
    ],
    rowsOf(report),
    out.columns,
    createStyle(out.color),
  )) {
    out.print(line)
  }
  out.json(report)
  // Nothing may be given for the bundled unrelated prompts. A user's own questions may share a subject.
  return data === undefined && report.unrelated.characters > 0 ? EXIT.failed : EXIT.ok
}

/** @throws CtxError `no-data` */
async function withQuestions(folder: string, out: Context["out"]): Promise<RelatedReport> {
  const conversations = conversationsIn(folder)
  if (conversations.length < 2) {
    throw new CtxError("no-data", `fewer than two conversations with questions (*.gold.json) in ${folder}`, {
      exit: EXIT.notFound,
      hint: "without --data, the sessions and prompts that come with ctxbridge are used",
    })
  }
  return benchRelatedTo(conversations, out.progress)
}

function rowsOf({ unrelated, related: found }: RelatedReport): string[][] {
  return [
    ["unrelated", String(unrelated.prompts), String(unrelated.answered), "", String(unrelated.turns), ""],
    [
      "related",
      String(found.prompts),
      String(found.answered),
      String(found.right),
      String(found.turns),
      String(found.rightTurns),
    ],
  ]
}
