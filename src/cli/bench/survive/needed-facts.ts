/**
 * What the model needed after a compaction, judged by what it did: which earlier paths, names and commands it used
 * again, and which earlier error lines it met again; and how much of that a text contains. Pure.
 */

import { namedBy } from "../../../agents/errors-met.ts"
import { shellCommand, toolFiles, toolKind } from "../../../agents/tool-kinds.ts"
import type { ToolKind } from "../../../record/agent.ts"
import { FACT_KINDS, type FactKind, factNames, pathsIn } from "../../../record/facts.ts"
import { commandPaths } from "../../../record/path-words.ts"
import { openingOf, simpleCommands } from "../../../record/shell-script.ts"
import type { Part, TranscriptRecord } from "../../../record/types.ts"

interface Seen {
  times: number
  /** Number of the last record that contained it. */
  latest: number
}

/** A value for each kind of fact. */
export type PerKind<T> = Readonly<Record<FactKind, T>>

export const perKind = <T>(value: (kind: FactKind) => T): PerKind<T> =>
  Object.fromEntries(FACT_KINDS.map((kind) => [kind, value(kind)])) as PerKind<T>

export type FactsSeen = PerKind<Map<string, Seen>>

/** Gathers facts, record by record. */
export class Memory {
  readonly seen: FactsSeen = perKind(() => new Map())
  readonly #tools = new Map<string, string>()
  readonly #used: boolean
  #records = 0

  /**
   * @param used whether only what the model itself does counts, and errors; otherwise everything in its context does
   */
  constructor(used: boolean) {
    this.#used = used
  }

  take({ parts, sidechain, version }: TranscriptRecord): void {
    if (sidechain) return
    this.#records++
    for (const part of parts) this.#takePart(part, version)
  }

  #takePart(part: Part, version: string | undefined): void {
    switch (part.kind) {
      case "prompt":
        if (!this.#used) this.#prose(part.text)
        return
      case "text":
        this.#prose(part.text)
        return
      case "toolUse": {
        this.#tools.set(part.id, part.name)
        for (const text of stringsIn(part.input)) this.#prose(text)
        for (const { path } of toolFiles(part.name, part.input)) this.#note("path", [path])
        const script = shellCommand(part.name, part.input)
        if (script === undefined) return
        this.#note("path", commandPaths(script))
        this.#note("command", [...new Set([openingOf(script) ?? [], simpleCommands(script)].flat())])
        return
      }
      case "toolResult": {
        if (!this.#used) this.#prose(part.text)
        const tool = this.#tools.get(part.id) ?? ""
        if (part.isError || toolKind(tool) === "run") this.#note("error", namedBy(tool, part, version))
        return
      }
    }
  }

  #prose(text: string): void {
    this.#note("name", factNames(text))
    this.#note("path", pathsIn(text))
  }

  #note(kind: FactKind, texts: readonly string[]): void {
    for (const text of texts) {
      const known = this.seen[kind].get(text)
      if (known === undefined) this.seen[kind].set(text, { times: 1, latest: this.#records })
      else if (known.latest !== this.#records) {
        known.times++
        known.latest = this.#records
      }
    }
  }
}

function stringsIn(input: unknown): string[] {
  if (typeof input === "string") return [input]
  return typeof input === "object" && input !== null ? Object.values(input).flatMap(stringsIn) : []
}

export interface Window {
  readonly records: readonly TranscriptRecord[]
  /** The model's API messages in it. */
  readonly steps: number
  /** Tool calls until the first that changes a file; undefined when none does. */
  readonly untilEdit: number | undefined
}

const isChange = (kind: ToolKind | undefined): boolean => kind === "edit" || kind === "write"

/** What follows a compaction, up to this many steps of the model or the next compaction. */
export function windowAfter(records: readonly TranscriptRecord[], from: number, steps: number): Window {
  const messages = new Set<string>()
  const taken: TranscriptRecord[] = []
  let calls = 0
  let untilEdit: number | undefined
  for (let n = from; n < records.length; n++) {
    const record = records[n]!
    if (record.sidechain) continue
    if (record.parts.some(({ kind }) => kind === "boundary")) break
    if (record.parts.some(({ kind }) => kind === "summary")) continue
    const message = record.usage?.messageId
    if (message !== undefined && !messages.has(message)) {
      if (messages.size >= steps) break
      messages.add(message)
    }
    for (const part of record.parts) {
      if (part.kind !== "toolUse") continue
      if (untilEdit === undefined && isChange(toolKind(part.name))) untilEdit = calls
      calls++
    }
    taken.push(record)
  }
  return { records: taken, steps: messages.size, untilEdit }
}

type Needed = PerKind<readonly string[]>

export function neededAfter(before: FactsSeen, window: Window): Needed {
  const after = new Memory(true)
  for (const record of window.records) after.take(record)
  return perKind((kind) => [...after.seen[kind].keys()].filter((text) => before[kind].has(text)))
}

export type Shares = PerKind<number | undefined>

/** Share of the needed facts of each kind; undefined when none was needed. */
export function shares(needed: Needed, holds: (kind: FactKind, fact: string) => boolean): Shares {
  return perKind((kind) => {
    const facts = needed[kind]
    return facts.length === 0 ? undefined : facts.filter((fact) => holds(kind, fact)).length / facts.length
  })
}

/** The needed facts that a text does not contain. */
export function notHeld(needed: Needed, holds: (kind: FactKind, fact: string) => boolean): Needed {
  return perKind((kind) => needed[kind].filter((fact) => !holds(kind, fact)))
}

/** Means over several compactions, for each kind over those where it was needed; `mean` is over the kinds. */
export function meanShares(all: readonly Shares[]): Shares & { readonly mean: number | undefined } {
  const kinds = perKind((kind) => mean(all.map((one) => one[kind])))
  return { ...kinds, mean: mean(Object.values(kinds)) }
}

export function mean(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0) / known.length
}
