/** Ways of pruning that were set up: whether they are at work, and whether they can be. */

import type { WayState } from "../pruners/way.ts"
import { clientWays, isArchiving, PRUNE_WAYS } from "../pruners/ways.ts"
import { type Finding, finding, type Patient } from "./finding.ts"

export async function pruneChecks(patient: Patient): Promise<Finding[]> {
  const clients = await clientWays(patient)
  if (clients.length === 0) return [finding("prune", "skipped", "Claude Code was not found")]
  const found = clients.flatMap(({ version, path, ways }) =>
    ways.flatMap((state) => ofWay(state, `Claude Code ${version ?? "of an unknown version"}, ${path}`)),
  )
  const told = together(found)
  const active = clients.some(({ ways }) => ways.some(({ isActive }) => isActive))
  if (active && !isArchiving(patient))
    told.push(
      finding("prune", "warn", "old text is pruned, but nothing is archived: the hooks are not registered", {
        hint: "ctxbridge install",
      }),
    )
  return told.length > 0 ? told : [finding("prune", "ok", "nothing is pruned; ctxbridge prune status")]
}

/** What is the same for several programs is told once. */
function together(findings: readonly Finding[]): Finding[] {
  const byText = Map.groupBy(findings, ({ text }) => text)
  return [...byText.values()].map((same) => ({
    ...same[0]!,
    details: same.flatMap(({ details }) => details),
  }))
}

/** @param where the program that it is about */
function ofWay({ way, isActive, unsupported, detail, problem }: WayState, where: string): Finding[] {
  const undo = { hint: PRUNE_WAYS.find(({ name }) => name === way)!.stop, details: [where] }
  if (isActive && unsupported !== undefined)
    return [finding("prune", "fail", `${way} is on, but cannot work: ${unsupported}`, undo)]
  if (isActive && problem !== undefined) return [finding("prune", "warn", `${way}: ${problem}`, undo)]
  if (isActive)
    return [
      finding("prune", "ok", `${way} is on${detail === undefined ? "" : `: ${detail}`}`, {
        details: [where],
      }),
    ]
  return detail === undefined ? [] : [finding("prune", "warn", `${way} is not working: ${detail}`, undo)]
}
