/**
 * Our hooks into a settings file of the host, and out again without a trace.
 *
 * Order of effects at an install: backup, manifest, settings. A crash in between leaves a manifest whose hash does
 * not fit, and then the uninstall is surgical.
 */
import { rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { CtxError, codeOf, messageOf } from "../util/errors.ts"
import { lineDiff } from "./line-diff.ts"
import {
  backupOf,
  dropRecord,
  type InstallRecord,
  readOriginal,
  readRecord,
  recordedTargets,
  removeIfEmpty,
  writeRecord,
} from "./manifest.ts"
import { addHooks, isEmptySettings, removeHooks } from "./settings-edit.ts"
import {
  decode,
  encode,
  expectUnchanged,
  expectWritable,
  makeFolders,
  readBytes,
  replaceFile,
  sha256,
  targetOf,
} from "./settings-file.ts"

/** Whose settings: the user's own, the project's shared ones, or the user's own ones for this project. */
export type Scope = "user" | "project" | "local"

export const SCOPES: readonly Scope[] = ["user", "project", "local"]

export interface Places {
  readonly home: string
  /** The host's configuration folder where it is not `<home>/.claude`. */
  readonly configDir?: string
  readonly cwd: string
  readonly dataHome: string
}

export interface UninstallOptions extends Places {
  readonly scope: Scope
  /** Work out the change, write nothing. */
  readonly dryRun?: boolean
}

export interface InstallOptions extends UninstallOptions {
  /** Absolute path of the binary that the hooks shall call. */
  readonly exePath: string
}

export interface SettingsChange {
  readonly file: string
  /** What was done to the file, or would be by a dry run; `restored` is back to the bytes before the install. */
  readonly action: "created" | "edited" | "restored" | "deleted" | "none"
  readonly changed: boolean
  readonly dryRun: boolean
  /** Events, by the host's names. */
  readonly added: readonly string[]
  readonly replaced: readonly string[]
  readonly removed: readonly string[]
  /** Where the settings as they were before us are kept. */
  readonly backup: string | undefined
  /** The changed lines, marked `-` and `+`. */
  readonly diff: readonly string[]
}

/** The settings file of a scope. */
export function settingsPath(scope: Scope, places: Places): string {
  if (scope === "user") return join(places.configDir ?? join(places.home, ".claude"), "settings.json")
  return join(places.cwd, ".claude", scope === "local" ? "settings.local.json" : "settings.json")
}

/** Registers our hooks. A second time, with the same binary, it changes nothing. */
export function install(options: InstallOptions): SettingsChange {
  return onSettings(settingsPath(options.scope, options), (file, target) => {
    const { dataHome, exePath, dryRun = false } = options
    const bytes = readBytes(target)
    const text = bytes && decode(bytes)
    const edit = addHooks(text, exePath)
    const changed = edit.text !== text
    let record = readRecord(dataHome, target)
    const written = encode(edit.text)
    const settled = !changed && record?.wrote === sha256(written)
    if (!dryRun && !settled) {
      const original = originalOf(bytes, record, dataHome)
      // The user's folder is private; a project's has the mode of any folder in it.
      const folders = makeFolders(dirname(target), options.scope === "user" ? 0o700 : 0o777)
      expectWritable(target)
      const all = [...new Set([...(record?.folders ?? []), ...folders])]
      try {
        record = writeRecord(dataHome, target, { wrote: sha256(written), folders: all }, original)
      } catch (error) {
        folders.toReversed().every(removeIfEmpty)
        throw error
      }
    }
    if (!dryRun && changed) replaceFile(target, written, bytes ?? null)
    return {
      file,
      action: !changed ? "none" : bytes === undefined ? "created" : "edited",
      changed,
      dryRun,
      added: edit.added,
      replaced: edit.replaced,
      removed: [],
      backup: backupOf(dataHome, record),
      diff: lineDiff(text ?? "", edit.text),
    }
  })
}

/**
 * Takes our hooks out. Where nobody has touched the file since the install, the bytes of before come back (or the
 * file goes, and the folders made for it); else only what is ours is cut out.
 */
export function uninstall(options: UninstallOptions): SettingsChange {
  return uninstallFrom(settingsPath(options.scope, options), options)
}

/** The same for every settings file that an install has written, in whatever project. */
export function uninstallAll(
  options: Pick<Places, "dataHome"> & { readonly dryRun: boolean },
): SettingsChange[] {
  // The latest first: a folder goes with the install that made it.
  return recordedTargets(options.dataHome)
    .toReversed()
    .map((file) => uninstallFrom(file, options))
}

function uninstallFrom(
  path: string,
  { dataHome, dryRun = false }: Pick<UninstallOptions, "dataHome" | "dryRun">,
): SettingsChange {
  return onSettings(path, (file, target) => {
    const bytes = readBytes(target)
    const text = bytes && decode(bytes)
    const record = readRecord(dataHome, target)
    const original = record && readOriginal(dataHome, record)
    const { removed, text: cut } = removeHooks(text ?? "", textOf(original))
    const restore = original !== undefined && bytes !== undefined && sha256(bytes) === record?.wrote
    const vain = removed.length > 0 && original === "absent" && isEmptySettings(cut)
    const next = restore ? original : vain ? "absent" : encode(cut)
    const after = next === "absent" ? undefined : next
    const changed = bytes !== undefined && !(after !== undefined && Buffer.compare(bytes, after) === 0)
    if (!dryRun) {
      if (changed) {
        expectWritable(target)
        if (after !== undefined) replaceFile(target, after, bytes)
        else {
          expectUnchanged(target, bytes)
          rmSync(target)
        }
      }
      if (after === undefined || bytes === undefined) record?.folders.toReversed().every(removeIfEmpty)
      dropRecord(dataHome, target)
    }
    return {
      file,
      action: !changed ? "none" : after === undefined ? "deleted" : restore ? "restored" : "edited",
      changed,
      dryRun,
      added: [],
      replaced: [],
      removed,
      backup: undefined,
      diff: lineDiff(text ?? "", bytes === undefined || after === undefined ? "" : decode(after)),
    }
  })
}

/** The settings as they would be had we never come, seen from the file as it is now. */
function originalOf(
  bytes: Uint8Array | undefined,
  record: InstallRecord | undefined,
  dataHome: string,
): Uint8Array | "absent" {
  if (bytes === undefined) return "absent"
  const before = record && readOriginal(dataHome, record)
  if (before !== undefined && sha256(bytes) === record?.wrote) return before
  // Someone else has written since, or the manifest is lost: what is there, less what is ours.
  const { text, removed } = removeHooks(decode(bytes), textOf(before))
  if (removed.length === 0) return bytes
  return before === "absent" && isEmptySettings(text) ? "absent" : encode(text)
}

function textOf(original: Uint8Array | "absent" | undefined): string | undefined {
  return original === undefined || original === "absent" ? undefined : decode(original)
}

/** Names the file in every error. */
function onSettings<T>(file: string, work: (file: string, target: string) => T): T {
  try {
    return work(file, targetOf(file))
  } catch (cause) {
    if (cause instanceof CtxError) {
      if (!cause.code.startsWith("settings-")) throw cause
      const hint = cause.hint === undefined ? {} : { hint: cause.hint }
      throw new CtxError(cause.code, `${file}: ${cause.message}`, { ...hint, exit: cause.exit, cause })
    }
    if (codeOf(cause) === "") throw cause
    throw new CtxError("settings-file", `cannot change ${file}: ${messageOf(cause)}`, {
      hint: "nothing was changed in it; check who may write there",
      cause,
    })
  }
}
