/** At the compactions of real sessions: what is given back is in no part of what Claude Code made of them. */
import { expect, test } from "bun:test"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { oneLine } from "../../src/base/text.ts"
import { lastTwo } from "../../src/restore/complement.ts"
import { explain } from "../../src/restore/explain.ts"
import { gather } from "../../src/restore/gather.ts"
import { containsWhole } from "../../src/restore/page.ts"
import { renderRestore } from "../../src/restore/render.ts"
import { Archive } from "../support/archive.ts"
import { transcriptFiles } from "../support/real.ts"

const BOUNDARY = '"subtype":"compact_boundary"'
const BUDGET = 4000

interface Compaction {
  /** The transcript up to there. */
  readonly before: Buffer
  readonly summary: string
  /** Files that Claude Code showed the model again. */
  readonly shown: readonly string[]
}

interface Line {
  readonly isCompactSummary?: boolean
  readonly message?: { readonly content?: unknown }
  readonly attachment?: { readonly type?: string; readonly filename?: string }
}

/** Lines behind a boundary with what Claude Code puts into the new context. */
const LOOKED_AT = 25

function compactionsIn(file: string): Compaction[] {
  const content = readFileSync(file)
  const found: Compaction[] = []
  for (let at = content.indexOf(BOUNDARY); at >= 0; at = content.indexOf(BOUNDARY, at + 1)) {
    const from = content.lastIndexOf("\n", at) + 1
    const lines = content.toString("utf8", from).split("\n", LOOKED_AT).slice(1).map(parsed)
    const summary = lines.find(({ isCompactSummary }) => isCompactSummary)?.message?.content
    if (typeof summary !== "string") continue
    const shown = lines.flatMap(({ attachment }) =>
      ["file", "compact_file_reference"].includes(attachment?.type ?? "") ? (attachment?.filename ?? []) : [],
    )
    found.push({ before: content.subarray(0, from), summary, shown })
  }
  return found
}

function parsed(line: string): Line {
  try {
    return JSON.parse(line) as Line
  } catch {
    return {}
  }
}

interface Restored {
  readonly text: string
  readonly paths: readonly string[]
  readonly names: readonly string[]
  readonly others: readonly string[]
}

function restored({ before, summary }: Compaction): Restored {
  using archive = new Archive()
  const transcript = archive.session("s1")
  mkdirSync(dirname(transcript.path), { recursive: true })
  writeFileSync(transcript.path, before)
  archive.follow(transcript)
  const { facts, ...material } = gather(archive.db, "s1")
  const text = renderRestore({ ...material, facts }, { source: "compact", budget: BUDGET, summary })
  const sections = explain(text, facts)
  const told = (title: string): string[] =>
    sections.filter((one) => one.title === title).flatMap((one) => one.facts.map((fact) => fact.text))
  const lines = sections.find(({ title }) => title === "Paths")?.lines ?? []
  return {
    text,
    paths: lines.flatMap(pathsOf),
    names: told("Names"),
    others: ["Commands run", "Errors seen"].flatMap(told),
  }
}

/** Of a line such as "- in `folder/`: `a b`" or "- `folder/a b`". */
function pathsOf(line: string): string[] {
  const [, folder = "", words = ""] = /^- (?:in `([^`]*)`: )?`([^`]*)`$/.exec(line) ?? []
  return words.split(" ").map((word) => folder + word)
}

const folded = (text: string): string => oneLine(text).toLowerCase()

const compactions = transcriptFiles().flatMap(compactionsIn)
if (compactions.length === 0) console.warn("no real compactions beside the checkout: skipped")

test.skipIf(compactions.length === 0)("nothing that the summary or the host's own attachments hold", () => {
  for (const compaction of compactions) {
    const { text, paths, names, others } = restored(compaction)
    const summary = folded(compaction.summary)
    expect(text.length).toBeLessThanOrEqual(BUDGET)
    expect(text.split("\n").filter((line) => /^- ctx:\w+ "/.test(line)).length).toBeGreaterThanOrEqual(5)
    expect(names.length + others.length).toBeGreaterThan(5)
    // Counted, not shown: what stands in these sessions is nobody else's business.
    expect(others.filter((fact) => containsWhole(summary, folded(fact))).length).toBe(0)
    // `sessionId` and `SessionID` are two names.
    expect(names.filter((name) => containsWhole(oneLine(compaction.summary), name)).length).toBe(0)
    expect(paths.filter((path) => containsWhole(summary, folded(lastTwo(path)))).length).toBe(0)
    // Which files Claude Code shows again is foreseen, not known.
    const again = compaction.shown.filter((path) => text.includes(path))
    expect(again.length).toBeLessThanOrEqual(2)
  }
})
