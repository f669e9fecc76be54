/**
 * Patches a program, or takes the patch back. A patch writes the record, then the backup, then the program, each whole:
 * killed in between, it leaves the program as it was, and the next one begins again.
 */

import { chmodSync, existsSync, rmSync, statSync, writeFileSync } from "node:fs"
import {
  decode,
  encode,
  expectWritable,
  hashOf,
  readBytes,
  removeLeftovers,
  replaceFile,
  unfinishedFile,
} from "../../base/edited-file.ts"
import { CtxError, codeOf, messageOf, usageError } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { realpathSync } from "../../base/fs.ts"
import { dirname, join, resolve } from "../../base/path.ts"
import { temporaryFolder } from "../../base/temporary.ts"
import { clientsHere, type Installed, versionIn } from "../../claude/install/clients.ts"
import { oneAtATime } from "../../claude/install/footprint.ts"
import { isolatedEnvironment } from "../../config/load.ts"
import type { WayState } from "../way.ts"
import {
  backupFile,
  dropPatchRecord,
  type ExaminedProgram,
  examineProgram,
  functionFor,
  insertionDiff,
  type PatchedText,
  type PatchRecord,
  type PatchStatus,
  patchedText,
  readBackup,
  recordFile,
  SUMMARISED,
  withInsertions,
} from "./examine-program.ts"
import { findPlace } from "./find-place.ts"

export interface PatchChange {
  readonly file: string
  readonly changed: boolean
  /** Of Claude Code, if it was asked. */
  readonly version: string | undefined
  /** With `dryRun`, what would be inserted. */
  readonly diff?: readonly string[]
}

interface PatchWish {
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
    throw refused(file, "another tool has patched it", "undo its patch first, or install the package anew")
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

/* Whether a changed bundle is a program that starts, tried beside the real one without touching it. */

/** ms that it may take to say its version. */
const PATIENCE = 30_000

const TOLD = "ctxbridge:"

interface Tried {
  /** What it says. */
  readonly version: string
}

/**
 * @param original the bundle before
 * @param runner what runs it
 */
function tryBundle(
  file: string,
  original: string,
  { text, place, insertions }: PatchedText,
  runner: "node" | "bun",
): Tried | { readonly why: string } {
  if (tryTo(() => new Bun.Transpiler({ loader: "js" }).scan(text)) === undefined)
    return { why: "the result is no valid JavaScript" }
  const program = Bun.which(runner) ?? Bun.which("node") ?? Bun.which("bun")
  if (program === null) return { why: `there is no ${runner} to try the result with` }
  using home = temporaryFolder("patch")
  const run = (tried: string) => runBeside(file, tried, program, home.path)
  const { stdout, exitCode } = run(text)
  const version = exitCode === 0 ? versionIn(stdout) : undefined
  if (version === undefined) return { why: "the result does not say its version" }
  // Where our function is, the name must mean that very function; where a compaction is, ours must be within reach.
  const { session, before, summary } = place
  const told = (expression: string): string =>
    `process.stderr.write(${JSON.stringify(TOLD)}+${expression}+"\\n");`
  const proofs = [
    { at: before, text: told(`${session.name}.toString()`) },
    { at: summary, text: told(`typeof ${SUMMARISED}`) },
  ]
  const proved = withInsertions(
    original,
    [...proofs, ...insertions].sort((a, b) => a.at - b.at),
  )
  const lines = run(proved).stderr.split("\n")
  if (!lines.includes(TOLD + session.source))
    return { why: "the function that names the session is not within reach" }
  if (!lines.includes(`${TOLD}function`)) return { why: "what a compaction sends is not within reach" }
  return { version }
}

function runBeside(file: string, text: string, program: string, home: string) {
  // A program looks for its own files beside itself.
  const probe = unfinishedFile(file, process.pid, "mjs")
  try {
    writeFileSync(probe, text, { mode: 0o600, flag: "wx" })
    const { stdout, stderr, exitCode } = Bun.spawnSync([program, probe, "--version"], {
      cwd: dirname(file),
      env: isolatedEnvironment(home),
      stdin: "ignore",
      timeout: PATIENCE,
    })
    return { stdout: stdout.toString(), stderr: stderr.toString(), exitCode }
  } finally {
    rmSync(probe, { force: true })
  }
}

/* Takes our patch out of every program that is installed: without ctxbridge, it would ask for what nobody answers. */

/** A program that has, or had, our patch. */
export interface RevertedPatch {
  readonly file: string
  /** Whether it is, or would be, as it was before. */
  readonly changed: boolean
  /** Why not. */
  readonly failed?: string
}

export const revertInstalled = (home: string, cwd: string, dryRun: boolean): RevertedPatch[] =>
  installedTargets(home, cwd)
    .filter((file) => existsSync(recordFile(file)))
    .map((file) => reverted(file, dryRun))

/** One that cannot be restored does not keep the others from it. */
function reverted(file: string, dryRun: boolean): RevertedPatch {
  try {
    return { file, changed: revertPatch(file, { dryRun }).changed }
  } catch (error) {
    return { file, changed: false, failed: messageOf(error) }
  }
}

/* Which programs are to be patched: the one that was named, or all that are installed. */

const MODULES = join("node_modules", "@anthropic-ai")
const BUNDLE = "cli.js"

/** A file, or a package's folder. */
export function namedTarget(named: string, cwd: string): string {
  const path = resolve(cwd, named)
  const file = tryTo(() => realpathSync(path))
  if (file === undefined)
    throw usageError(`there is no ${path}`, "--target takes a cli.js, or its package's folder")
  if (!statSync(file).isDirectory()) return file
  const bundle = join(file, BUNDLE)
  if (existsSync(bundle)) return realpathSync(bundle)
  throw new CtxError("patch-refused", `${file} has no ${BUNDLE}: later versions are native programs`, {
    hint: "ctxbridge prune recommend says what works here",
  })
}

/** Installed clients, and the bundles of Agent SDKs in and above a folder. */
export function installedTargets(home: string, cwd: string): string[] {
  const clients = clientsHere(home).map(({ file, kind }) => {
    // A local installation is started by a script beside its modules.
    const local = join(dirname(file), MODULES, "claude-code", BUNDLE)
    return kind === "script" && existsSync(local) ? realpathSync(local) : file
  })
  const kits = foldersAbove(cwd)
    .map((folder) => join(folder, MODULES, "claude-agent-sdk", BUNDLE))
    .filter((file) => existsSync(file))
  return [...new Set([...clients, ...kits.map((file) => realpathSync(file))])]
}

function foldersAbove(folder: string): string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [folder, ...foldersAbove(above)]
}

/* Whether a program is patched, or could be. */

export function patchState({ file }: Pick<Installed, "file">): WayState {
  const seen = tryTo(() => examineProgram(file))
  if (seen === undefined) return no("it cannot be read")
  const { noBundle, status, record } = seen
  if (noBundle !== undefined) return no(noBundle)
  if (status === "patched") {
    const isThere = record !== undefined && existsSync(record.binary)
    return {
      way: "patch",
      isActive: true,
      detail: `patched: ${file}`,
      ...(isThere
        ? {}
        : { problem: `the patch asks ${record?.binary}, which is gone, so nothing is pruned` }),
    }
  }
  if (status === "foreign-patch") return no("another tool has patched it")
  if (status === "changed-since-patch" && !seen.isReplaced) return no("it was changed since it was patched")
  const place = findPlace(decode(seen.bytes))
  if ("why" in place) return no(place.why)
  return {
    way: "patch",
    isActive: false,
    ...(seen.isReplaced && { detail: "the patch is gone, most likely with an update" }),
  }
}

const no = (unsupported: string): WayState => ({ way: "patch", isActive: false, unsupported })
