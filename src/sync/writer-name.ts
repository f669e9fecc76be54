/** What this computer and its archive are called elsewhere. */
import { hostname } from "node:os"
import { tryTo, writeWhole } from "../util/files.ts"
import { readFileSync } from "../util/fs.ts"
import { join } from "../util/path.ts"
import { syncFolder } from "./sync-ledger.ts"

export const machineName = (host = hostname()): string =>
  host
    .replaceAll(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-/, "")
    .slice(0, 40) || "unnamed"

/** This archive's name among those that write to a folder: readable, and another one when the archive is copied. */
export function writerName(dataHome: string, host?: string): string {
  const file = join(syncFolder(dataHome), "id.txt")
  const known = tryTo(() => readFileSync(file, "utf8").trim())
  const id = known !== undefined && /^[0-9a-f]{8}$/.test(known) ? known : crypto.randomUUID().slice(0, 8)
  if (id !== known) writeWhole(file, `${id}\n`)
  return `${machineName(host)}-${id}`
}
