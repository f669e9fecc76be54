/** What was learnt in a project about what its restores should show first. Written by learning/, read here. */
import type { Database } from "../views/database.ts"
import { learnedRows } from "../views/queries/fact-uses.ts"
import { projectOfSession } from "../views/queries/projects.ts"
import { lastTwo } from "./complement.ts"
import type { Weigh } from "./slots.ts"

/** No restore is made worse than this by what was learnt, and none better. */
export const LEAST_WEIGHT = 0.5
export const MOST_WEIGHT = 2

/** @returns undefined if nothing was learnt there */
export function projectWeights(db: Database, session: string): Weigh | undefined {
  const about = projectOfSession(db, session)
  const rows = about === null ? [] : learnedRows(db, about.project)
  if (rows.length === 0) return undefined
  const ofItem = new Map<string, number>()
  const ofCell = new Map<string, number>()
  for (const { kind, item, cell, weight } of rows) {
    const bounded = Math.min(MOST_WEIGHT, Math.max(LEAST_WEIGHT, weight))
    if (item === "") ofCell.set(`${kind} ${cell}`, bounded)
    else ofItem.set(`${kind} ${kind === "path" ? lastTwo(item) : item}`, bounded)
  }
  return (kind, text, cell) => ofItem.get(`${kind} ${text}`) ?? ofCell.get(`${kind} ${cell}`) ?? 1
}
