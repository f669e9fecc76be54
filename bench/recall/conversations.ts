/**
 * Reads data in the format of our LoCoMo conversion: a folder of transcripts per conversation, and next to it
 * `<conversation>.gold.json` with `qa: [{question, category, gold: [id]}]` and `dia: {id: {text}}`.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { CtxError, EXIT, messageOf } from "../../src/base/errors.ts"
import type { Question } from "./scores.ts"

export interface Conversation {
  readonly name: string
  readonly transcripts: readonly string[]
  /** Undefined: questions are made from the transcripts. */
  readonly questions: readonly Question[] | undefined
}

const GOLD = ".gold.json"

interface Gold {
  readonly qa: readonly {
    readonly question: string
    readonly category: number
    readonly gold: readonly string[]
  }[]
  readonly dia: Readonly<Record<string, { readonly text: string }>>
}

/** @throws CtxError `no-data` */
export function conversationsIn(folder: string): Conversation[] {
  let names: string[]
  try {
    names = readdirSync(folder).filter((name) => name.endsWith(GOLD))
  } catch (cause) {
    throw new CtxError("no-data", `cannot read ${folder}: ${messageOf(cause)}`, {
      exit: EXIT.notFound,
      cause,
    })
  }
  return names.sort().map((name) => conversation(folder, name.slice(0, -GOLD.length)))
}

function conversation(folder: string, name: string): Conversation {
  const { qa, dia } = JSON.parse(readFileSync(join(folder, name + GOLD), "utf8")) as Gold
  const transcripts = readdirSync(join(folder, name))
    .filter((file) => file.endsWith(".jsonl"))
    .sort()
    .map((file) => join(folder, name, file))
  // The text is "Speaker: what was said"; only the latter is evidence.
  const said = (id: string): string => (dia[id]?.text ?? "").replace(/^\w+: /, "")
  // A question without an answer has no evidence that could be shown.
  const answered = qa.filter(({ gold }) => gold.length > 0)
  const questions = answered.map(({ question, category, gold }) => ({
    text: question,
    group: GROUPS[category] ?? `category ${category}`,
    evidence: new Map(gold.map((id) => [id, said(id)])),
  }))
  return { name, transcripts, questions }
}

/** Transcripts alone: each subfolder is a conversation. */
export function conversationsWithoutQuestions(folder: string): Conversation[] {
  const folders = new Map<string, string[]>()
  for (const file of [...new Bun.Glob("**/*.jsonl").scanSync(folder)].sort()) {
    const name = file.includes("/") ? file.slice(0, file.indexOf("/")) : "."
    folders.set(name, [...(folders.get(name) ?? []), join(folder, file)])
  }
  return [...folders].map(([name, transcripts]) => ({ name, transcripts, questions: undefined }))
}

const GROUPS: Readonly<Record<number, string>> = {
  1: "multi-hop",
  2: "temporal",
  3: "open-domain",
  4: "single-hop",
  5: "adversarial",
}
