/**
 * Patches a program, or takes the patch back. A patch writes the record, then the backup, then the program, each whole:
 * killed in between, it leaves the program as it was, and the next one begins again.
 */
import { chmodSync, statSync } from "node:fs"
import { oneAtATime } from "../../claude/install/install-lock.ts"
import {
  decode,
  encode,
  expectWritable,
  hashOf,
  readBytes,
  removeLeftovers,
  replaceFile,
} from "../../util/edited-file.ts"
import { CtxError, codeOf } from "../../util/errors.ts"
import { dirname } from "../../util/path.ts"
import { type ExaminedProgram, examineProgram, type PatchStatus } from "./examine-program.ts"
import { backupFile, dropPatchRecord, type PatchRecord, readBackup, recordFile } from "./patch-record.ts"
import { functionFor, insertionDiff, patchedText } from "./patched-text.ts"
import { tryBundle } from "./try-bundle.ts"

export interface PatchChange {
  readonly file: string
  readonly changed: boolean
  /** Of Claude Code, if it was asked. */
  readonly version: string | undefined
  /** With `dryRun`, what would be inserted. */
  readonly diff?: readonly string[]
}

export interface PatchWish {
  /** Absolute path of the program that is asked. */
  readonly binary: string
  readonly dryRun: boolean
}

/** @throws CtxError if anything is not as expected; nothing is changed then */
export function applyPatch(file: string, wish: PatchWish): PatchChange {
  return wish.dryRun ? apply(file, wish) : oneAtATime(dirname(file), () => apply(file, wish))
}

function apply(file: string, { binary, dryRun }: PatchWish): PatchChange {
  const seen = examineProgram(file)
  const inserted = hashOf(encode(functionFor(binary)))
  const { record } = seen
  if (seen.status === "patched" && record?.binary === binary && record.inserted === inserted)
    return { file, changed: false, version: record.version }
  const before = unpatched(seen)
  expectNoOtherBackup(seen, before)
  const original = decode(before)
  const patched = patchedText(original, binary)
  if ("why" in patched) throw refused(file, patched.why)
  if (dryRun)
    return { file, changed: true, version: undefined, diff: insertionDiff(original, patched.insertions) }

  writable(file)
  removeLeftovers(file)
  const tried = tryBundle(file, original, patched, runnerOf(seen))
  if ("why" in tried) throw refused(file, tried.why)
  const { version } = tried
  const after = encode(patched.text)
  // One after the other: killed in between, there must be no record of one patch beside another.
  if (seen.status === "patched") replaceFile(file, before, seen.bytes)
  if (record !== undefined) dropPatchRecord(file, record)
  const noted: PatchRecord = { original: hashOf(before), patched: hashOf(after), binary, inserted, version }
  writeBeside(file, recordFile(file), encode(`${JSON.stringify(noted, null, 2)}\n`))
  writeBeside(file, backupFile(file), before)
  replaceFile(file, after, before)
  return { file, changed: true, version }
}

/** @throws CtxError if it is unknown what was there before; nothing is changed then */
export function revertPatch(file: string, { dryRun }: Pick<PatchWish, "dryRun">): PatchChange {
  return dryRun ? revert(file, dryRun) : oneAtATime(dirname(file), () => revert(file, dryRun))
}

function revert(file: string, dryRun: boolean): PatchChange {
  const seen = examineProgram(file)
  const { record, status } = seen
  const version = record?.version
  if (status === "clean" || (status === "changed-since-patch" && seen.isReplaced)) {
    // What a killed patch left, or an update that brought another program.
    if (record !== undefined && !dryRun) {
      writable(file)
      dropPatchRecord(file, record)
    }
    return { file, changed: false, version }
  }
  const before = unpatched(seen)
  if (dryRun) return { file, changed: true, version }
  writable(file)
  replaceFile(file, before, seen.bytes)
  if (record !== undefined) dropPatchRecord(file, record)
  return { file, changed: true, version }
}

/** The program as it is without any patch. */
function unpatched(seen: ExaminedProgram): Uint8Array {
  const { file, status, bytes, record, isReplaced, noBundle } = seen
  if (noBundle !== undefined) throw refused(file, noBundle)
  if (status === "foreign-patch")
    throw refused(
      file,
      "another tool has patched it",
      "take its patch back first, or install the package anew",
    )
  if (status === "clean" || isReplaced) return bytes
  const before = status === "patched" && record !== undefined ? readBackup(file, record) : undefined
  if (before !== undefined) return before
  const why =
    status === "patched"
      ? `${backupFile(file)} is not what was there before`
      : "it was changed since it was patched"
  throw refused(file, why, "installing the package anew brings the original")
}

/** Another tool's backup may be all that is left of an original. */
function expectNoOtherBackup({ file, record }: ExaminedProgram, before: Uint8Array): void {
  const backup = readBytes(backupFile(file))
  if (backup === undefined) return
  if ([record?.original, hashOf(before)].includes(hashOf(backup))) return
  throw refused(file, `${backupFile(file)} is there, and not ours`, "move it away, or remove it")
}

const runnerOf = ({ program }: ExaminedProgram): "node" | "bun" =>
  program.kind === "bundle" ? program.runner : "node"

/** Whoever may read the program may see what was done to it. */
function writeBeside(file: string, path: string, bytes: Uint8Array): void {
  replaceFile(path, bytes)
  chmodSync(path, statSync(file).mode & 0o666)
}

function writable(file: string): void {
  try {
    expectWritable(file)
  } catch (cause) {
    const why = codeOf(cause) === "EROFS" ? "its disk is read-only" : "you may not write there"
    throw new CtxError("not-writable", `${file} cannot be changed: ${why}`, {
      hint: "nothing was changed; install Claude Code where it is yours, or see ctxbridge prune recommend",
      cause,
    })
  }
}

/** The state of a program, without changing anything. */
export function checkPatch(file: string): PatchStatus {
  const { status, noBundle } = examineProgram(file)
  if (noBundle !== undefined) throw refused(file, noBundle)
  return status
}

const OTHER_WAYS = "ctxbridge prune recommend says what works here"

const refused = (file: string, why: string, hint = OTHER_WAYS): CtxError =>
  new CtxError("patch-refused", `${file} is left as it is: ${why}`, { hint })
