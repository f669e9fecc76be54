/** Shows people what was or would be forgotten. Pure. */
import type { ToldSession } from "../job/carried-text.ts"
import type { Leaving } from "../job/forget-sessions.ts"
import type { TextFound } from "../job/forget-text.ts"
import { bytes, count } from "../util/text.ts"
import type { Tombstone } from "../vault/tombstones.ts"
import { ago } from "./screen.ts"
import { safe } from "./style.ts"

const MOST = 20

const some = (lines: readonly string[]): string[] =>
  lines.length <= MOST
    ? [...lines]
    : [...lines.slice(0, MOST), `  and ${lines.length - MOST} more; --json lists all`]

export interface Around {
  readonly dryRun: boolean
  /** Sessions forked from those that leave. */
  readonly heirs: readonly string[]
  /** How many notes the model kept in them. */
  readonly notes: number
  /** Sessions that ctxbridge has told about them. */
  readonly told: readonly ToldSession[]
  readonly failed: TextFound["failed"]
}

export function renderLeaving(
  list: readonly Leaving[],
  { dryRun, heirs, notes, told, failed }: Around,
): string[] {
  if (list.length === 0) return ["Nothing to forget"]
  const sum = (of: (one: Leaving) => number): number => list.reduce((total, one) => total + of(one), 0)
  const copies = count(
    sum((one) => one.copies.length),
    "copy",
    "copies",
  )
  const prompts = sum((one) => one.prompts)
  const lines = [
    `${dryRun ? "Would forget" : "Forgot"} ${count(list.length, "session")}: ${copies}, ${bytes(sum((one) => one.bytes))} of the vault${prompts > 0 ? `, ${count(prompts, "line")} of the list of prompts` : ""}`,
    ...some(
      list.map(
        (one) => `  ${safe(one.session)}  ${count(one.copies.length, "copy", "copies")}, ${bytes(one.bytes)}`,
      ),
    ),
  ]
  const onDisk = sum((one) => one.onDisk)
  const them = list.length === 1 ? "it" : "them"
  if (onDisk > 0) {
    lines.push(
      `Claude Code itself still has ${count(onDisk, "transcript")} of ${them}; ${onDisk === 1 ? "it" : "they"} will not be archived again`,
    )
  }
  if (notes > 0)
    lines.push(`${dryRun ? "Would forget" : "Forgot"} ${count(notes, "note")} that Claude kept in ${them}`)
  if (heirs.length > 0) {
    lines.push(
      `${count(heirs.length, "session")} forked from ${them} ${heirs.length === 1 ? "begins" : "begin"} with the same messages:`,
      ...some(heirs.map((one) => `  ${safe(one)}`)),
    )
  }
  if (told.length > 0) {
    const places = told.reduce((sum, one) => sum + one.places, 0)
    const kept = told.reduce((sum, one) => sum + one.onDisk, 0)
    lines.push(
      `${dryRun ? "Would replace" : "Replaced"} what ctxbridge had restored from ${them} into ${count(told.length, "other session")}: ${count(places, "place")}. What you or the model said about it there since stays:`,
      ...some(told.map((one) => `  ${safe(one.session)}  ${count(one.places, "place")}`)),
    )
    if (kept > 0) lines.push(`Claude Code itself still has ${count(kept, "transcript")} of these, unchanged`)
  }
  return [...lines, ...unread(failed)]
}

const unread = (failed: TextFound["failed"]): string[] =>
  failed.map(({ copy, error }) => `not read: ${safe(copy)}: ${safe(error)}`)

export function renderFound({ places, lines, copies, onDisk, failed }: TextFound, dryRun: boolean): string[] {
  const out =
    places === 0
      ? ["Not found in the vault"]
      : [
          `${dryRun ? "Would replace" : "Replaced"} ${count(places, "place")} in ${count(lines, "line")} of ${count(copies.length, "copy", "copies")}`,
          ...some(copies.map((one) => `  ${safe(one.session)}  ${count(one.places, "place")}`)),
        ]
  if (onDisk > 0) out.push(`Claude Code itself still has ${onDisk} of these transcripts, unchanged`)
  return [...out, ...unread(failed)]
}

export function renderTombstones(list: readonly Tombstone[], now: number): string[] {
  if (list.length === 0) return ["Nothing has been forgotten"]
  return list.map(({ session, whole, agents, lines, time }) => {
    const parts = [
      ...(whole ? ["the whole session"] : agents.map((agent) => `its subagent ${agent}`)),
      ...(Object.keys(lines).length > 0 ? [`text in ${count(Object.keys(lines).length, "line")}`] : []),
    ]
    return `${safe(session)}  ${safe(parts.join(", "))}, ${ago(new Date(time).toISOString(), now)}`
  })
}
