/** What a background import has done, noted until the next session that starts tells the user. */
import { dropFile, readJson, takeFile, writeJson } from "../util/json-files.ts"
import { join } from "../util/path.ts"

export interface ImportDone {
  readonly transcripts: number
  readonly bytes: number
}

export const importDoneFile = (dataHome: string): string => join(dataHome, "imported.json")

export const noteImportDone = (dataHome: string, { transcripts, bytes }: ImportDone): void =>
  writeJson(importDoneFile(dataHome), { transcripts, bytes })

/** @returns undefined if there is nothing to tell, or another session tells it */
export function takeImportDone(dataHome: string): ImportDone | undefined {
  const file = importDoneFile(dataHome)
  const taken = `${file}.${process.pid}`
  if (!takeFile(file, taken)) return undefined
  const { transcripts, bytes } = (readJson(taken) ?? {}) as Partial<Record<keyof ImportDone, unknown>>
  dropFile(taken)
  return typeof transcripts === "number" && typeof bytes === "number" ? { transcripts, bytes } : undefined
}
