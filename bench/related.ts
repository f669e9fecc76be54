/**
 * What restores give from other sessions, and whether they stay silent when due: `bun bench/related.ts [--data DIR]`,
 * with the options that all commands have.
 */
import { resolve } from "node:path"
import { CtxError, EXIT } from "../src/base/errors.ts"
import { stringArg } from "../src/cli/args.ts"
import { renderTable } from "../src/cli/block.ts"
import type { Command, Output } from "../src/cli/command.ts"
import { runCli } from "../src/cli/router.ts"
import { createStyle } from "../src/cli/style.ts"
import { conversationsIn } from "./recall/conversations.ts"
import { countRelated, countRelatedIn, type RelatedReport } from "./related/count-related.ts"

const NAME = "bench/related.ts"

const command: Command = {
  meta: {
    name: NAME,
    description: "Whether a restore names turns of other sessions when it should, and only then",
  },
  args: {
    data: {
      type: "string",
      valueHint: "DIR",
      description:
        "Two or more conversations with questions (*.gold.json), in place of the sessions in bench/related",
    },
  },
  async run({ args, out, env }) {
    const data = stringArg(args, "data")
    const report = await (data === undefined ? countRelated() : withQuestions(resolve(env.cwd, data), out))
    const right = (title: string) => ({ title, align: "right" as const })
    const head = [{ title: "prompts" }, ...["n", "answered", "right", "turns", "of them right"].map(right)]
    const style = createStyle(out.color)
    for (const line of renderTable(head, rowsOf(report), out.columns, style)) out.print(line)
    out.json(report)
    // Nothing may be given for the bundled unrelated prompts. A user's own questions may share a subject.
    return data === undefined && report.unrelated.characters > 0 ? EXIT.failed : EXIT.ok
  },
}

/** @throws CtxError `no-data` */
async function withQuestions(folder: string, out: Output): Promise<RelatedReport> {
  const conversations = conversationsIn(folder)
  if (conversations.length < 2) {
    throw new CtxError("no-data", `fewer than two conversations with questions (*.gold.json) in ${folder}`, {
      exit: EXIT.notFound,
      hint: "without --data, the sessions and prompts in bench/related are used",
    })
  }
  return countRelatedIn(conversations, out.progress)
}

function rowsOf({ unrelated, related }: RelatedReport): string[][] {
  const { prompts, answered, right, turns, rightTurns } = related
  return [
    ["unrelated", String(unrelated.prompts), String(unrelated.answered), "", String(unrelated.turns), ""],
    ["related", ...[prompts, answered, right, turns, rightTurns].map(String)],
  ]
}

await runCli([NAME, ...process.argv.slice(2)], command)
