/** Whether a program is patched, by whom, and whether it is still as the patch left it. */
import { closeSync, openSync, readFileSync, readSync } from "node:fs"
import { decode, hashOf } from "../../util/edited-file.ts"
import { tryTo } from "../../util/files.ts"
import { type PatchRecord, readPatchRecord } from "./patch-record.ts"
import { patchIn } from "./patched-text.ts"
import { type ProgramKind, programKind } from "./program-kind.ts"

export type PatchStatus = "clean" | "patched" | "changed-since-patch" | "foreign-patch"

export interface ExaminedProgram {
  readonly file: string
  /** All of a bundle; of anything else, how it begins. */
  readonly bytes: Uint8Array
  readonly program: ProgramKind
  /** Why it cannot be patched, whatever it says: it is no bundle in UTF-8. */
  readonly noBundle: string | undefined
  readonly status: PatchStatus
  readonly record: PatchRecord | undefined
  /** Whether it was replaced since, most likely by an update. */
  readonly isReplaced: boolean
}

/** @param file with links resolved */
export function examineProgram(file: string): ExaminedProgram {
  // Native programs have hundreds of megabytes, and only how they begin matters.
  const begin = beginningOf(file)
  const program = programKind(file, begin)
  const bytes = program.kind === "bundle" ? readFileSync(file) : begin
  const text = program.kind === "bundle" ? tryTo(() => decode(bytes)) : undefined
  const record = readPatchRecord(file)
  const found = text === undefined ? undefined : patchIn(text)
  const hash = hashOf(bytes)
  const status = ((): PatchStatus => {
    if (hash === record?.patched) return "patched"
    if (found === "another") return "foreign-patch"
    // Ours, but nobody knows what was there before.
    if (found === "ours") return "changed-since-patch"
    return record === undefined || hash === record.original ? "clean" : "changed-since-patch"
  })()
  const noBundle = text === undefined ? reasonOf(program) : undefined
  return {
    file,
    bytes,
    program,
    noBundle,
    status,
    record,
    isReplaced: found === undefined && status !== "clean",
  }
}

/** Bytes that tell what a program is. */
const TELLING = 512

function beginningOf(file: string): Uint8Array {
  const fd = openSync(file, "r")
  try {
    const bytes = new Uint8Array(TELLING)
    return bytes.subarray(0, readSync(fd, bytes))
  } finally {
    closeSync(fd)
  }
}

function reasonOf(program: ProgramKind): string {
  switch (program.kind) {
    case "native":
      return `it is a native program (${program.format}), and only cli.js can be patched`
    case "script":
      return "it is a script that starts another program"
    case "bundle":
      return "it is not UTF-8"
    default:
      return "it is no JavaScript"
  }
}
