/** Renders the report of `bench recall` as a table. Pure. */
import type { Scores } from "../bench/recall/question.ts"
import type { RecallReport } from "../bench/recall/run.ts"
import type { Style } from "./style.ts"
import { renderTable } from "./text-table.ts"

export function renderRecall(report: RecallReport, columns: number, style: Style): string[] {
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
