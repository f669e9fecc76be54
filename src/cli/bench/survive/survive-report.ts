/** The results of `ctxbridge bench survive` over all compactions, and as tables for people. Pure. */

import { count, markdownTable } from "../../../base/text.ts"
import { FACT_KINDS } from "../../../record/facts.ts"
import { mean, meanShares, type Shares } from "./needed-facts.ts"
import { type CompactionResult, METHODS, type Method, type SurviveOptions } from "./replay.ts"

type Mean = ReturnType<typeof meanShares>

interface SurviveReport extends SurviveOptions {
  readonly suite: "survive"
  readonly compactions: readonly CompactionResult[]
  /** Share of what was needed that is in what Claude Code kept: its summary, and messages. */
  readonly summary: Mean
  readonly methods: Readonly<Record<Method, { together: Mean; given: Mean; characters: number | undefined }>>
  /** Share of what was needed that is in the plugin's context, which comes in place of the summary. */
  readonly plugin: { readonly held: Mean; readonly characters: number | undefined }
  /** Mean number of tool calls until the first change of a file, where there was one. */
  readonly untilEdit: number | undefined
  readonly fewestTurnLines: number
  readonly overBudget: number
}

export function reportOf(compactions: readonly CompactionResult[], options: SurviveOptions): SurviveReport {
  const of = (method: Method) => ({
    together: meanShares(compactions.map(({ methods }) => methods[method].together)),
    given: meanShares(compactions.map(({ methods }) => methods[method].given)),
    characters: mean(compactions.map(({ methods }) => methods[method].characters)),
  })
  return {
    suite: "survive",
    ...options,
    compactions,
    summary: meanShares(compactions.map(({ summary }) => summary)),
    methods: Object.fromEntries(METHODS.map((method) => [method, of(method)])) as SurviveReport["methods"],
    plugin: {
      held: meanShares(compactions.map(({ plugin }) => plugin.held)),
      characters: mean(compactions.map(({ plugin }) => plugin.characters)),
    },
    untilEdit: mean(compactions.map(({ untilEdit }) => untilEdit)),
    fewestTurnLines: Math.min(...compactions.map(({ turnLines }) => turnLines)),
    overBudget: compactions.filter(({ overBudget }) => overBudget).length,
  }
}

const TITLES: Readonly<Record<Method, string>> = {
  restore: "restore",
  lists: "bare lists, recency × frequency",
  search: "search for the next prompt, five hits",
  recency: "turns by recency",
  importance: "turns by importance",
  tail: "last characters, raw",
}

export function renderSurvive(report: SurviveReport): string[] {
  const { compactions, methods, budget, window, untilEdit } = report
  const row = (
    title: string,
    held: Mean,
    given: Mean | undefined,
    characters: number | undefined,
  ): string[] => [
    title,
    ...FACT_KINDS.map((kind) => percent(held[kind])),
    percent(held.mean),
    percent(given?.mean),
    characters === undefined ? "" : characters.toFixed(0),
  ]
  return [
    `${count(compactions.length, "compaction")}; ${budget} characters; needed within ${window} steps of the model.`,
    "",
    ...markdownTable(
      ["kept and", ...FACT_KINDS.map((kind) => `${kind}s`), "mean", "given", "characters"],
      [
        row("nothing else", report.summary, undefined, undefined),
        ...METHODS.map((method) => {
          const { together, given, characters } = methods[method]
          return row(TITLES[method], together, given, characters)
        }),
        row("the plugin's context instead", report.plugin.held, undefined, report.plugin.characters),
      ],
    ),
    "",
    "Shares in % of what was needed again: held together with what Claude Code kept, its summary and messages;",
    "given, of what it did not keep. The plugin's context (prune plugin) takes the place of the summary.",
    `Turns told in each restore: ${report.fewestTurnLines} or more. Restores over budget: ${report.overBudget}.` +
      (untilEdit === undefined ? "" : ` Tool calls until the first change: ${untilEdit.toFixed(1)}.`),
    "",
    ...markdownTable(
      ["compaction", "needed", "kept", "together", "given"],
      compactions.map(({ session, offset, needed, summary, methods: { restore } }) => [
        `${session.slice(0, 8)} at ${offset}`,
        FACT_KINDS.map((kind) => needed[kind]).join(" + "),
        overKinds(summary),
        overKinds(restore.together),
        overKinds(restore.given),
      ]),
    ),
  ]
}

const overKinds = (shares: Shares): string => percent(mean(FACT_KINDS.map((kind) => shares[kind])))

const percent = (share: number | undefined): string => (share === undefined ? "–" : (100 * share).toFixed(0))
