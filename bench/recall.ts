/**
 * Compares ways of searching by how much of the answer to a question they show: `bun bench/recall.ts --data DIR`, with
 * the options that all commands have.
 */
import { resolve } from "node:path"
import { EXIT, usageError } from "../src/base/errors.ts"
import { stringArg } from "../src/cli/args.ts"
import { renderTable } from "../src/cli/block.ts"
import type { Command } from "../src/cli/command.ts"
import { runCli } from "../src/cli/router.ts"
import { createStyle, type Style } from "../src/cli/style.ts"
import { openEmbedder } from "../src/find/embed/embedder.ts"
import { compareSearches, type RecallReport } from "./recall/compare-searches.ts"
import type { Scores } from "./recall/scores.ts"

const NAME = "bench/recall.ts"

const command: Command = {
  meta: { name: NAME, description: "How much of the answer to a question each way of searching shows" },
  args: {
    data: {
      type: "string",
      valueHint: "DIR",
      description: "Transcripts with their questions (*.gold.json), or transcripts alone",
    },
  },
  async run({ args, out, env }) {
    const data = stringArg(args, "data")
    if (data === undefined) throw usageError(`${NAME} needs --data DIR`, `bun ${NAME} --help`)
    const report = await compareSearches({
      folder: resolve(env.cwd, data),
      embedder: await openEmbedder(env),
      onProgress: out.progress,
    })
    for (const line of rendered(report, out.columns, createStyle(out.color))) out.print(line)
    out.json(report)
    return EXIT.ok
  },
}

function rendered(report: RecallReport, columns: number, style: Style): string[] {
  const rows = Object.entries(report.arms).flatMap(([arm, groups]) =>
    Object.entries(groups).map(([group, scores]) => [arm, group, ...figures(scores)]),
  )
  const right = (title: string) => ({ title, align: "right" as const })
  const { id, runtime } = report.embedder
  const table = renderTable(
    [
      { title: "search" },
      { title: "questions" },
      ...["n", "hit@1", "R@5", "R@10", "MRR", "R@4000", "turn@5"].map(right),
    ],
    rows,
    columns,
    style,
  )
  return [
    ...table,
    `semantic, hybrid: ${runtime === "hashed" ? "hashed words, no model" : `${id} (${runtime})`}`,
  ]
}

function figures({ questions, hit1, r5, r10, mrr, r4000, turn5 }: Scores): string[] {
  const percent = (value: number | null): string => (value === null ? "" : (value * 100).toFixed(1))
  return [
    String(questions),
    percent(hit1),
    percent(r5),
    percent(r10),
    mrr.toFixed(3),
    percent(r4000),
    percent(turn5),
  ]
}

await runCli([NAME, ...process.argv.slice(2)], command)
