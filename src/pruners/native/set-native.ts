/**
 * `prune native`: writes the settings, and takes them back. With records of its own, so that hooks that were registered
 * before or after are not touched.
 */

import {
  originalText,
  readRecord,
  recordedTargets,
  removeIfEmpty,
} from "../../claude/install/install-record.ts"
import { type Ours, register, type SettingsChange, unregister } from "../../claude/install/register.ts"
import type { HostFolders } from "../../claude/install/registration.ts"
import { settingsPath } from "../../claude/settings/read-settings.ts"
import { hashOf, readBytes, targetOf } from "../../util/edited-file.ts"
import { isEmptySettings } from "../../util/json-text.ts"
import { join } from "../../util/path.ts"
import { addNative, type NativeWish, removeNative } from "./native-edit.ts"

interface NativeOptions extends HostFolders {
  /** Work out the change but write nothing. */
  readonly dryRun: boolean
}

/** Repeating it with the same wish changes nothing. */
export function setNative(options: NativeOptions, wish: NativeWish): SettingsChange {
  const file = settingsPath("user", options)
  const original = originalText(recordsIn(options), targetOf(file))
  const add = (text: string | undefined) => addNative(text, original, wish)
  const ours = { ...oursIn(file, options), add }
  if (isRecorded(options, file)) return register(ours, placed(options))
  // Without a record, nothing that is there is ours.
  const first = { ...ours, remove: (text: string) => ({ text, removed: [] }) }
  const tried = register(first, { ...placed(options), dryRun: true })
  return tried.changed ? register(first, placed(options)) : { ...tried, dryRun: options.dryRun }
}

/** @param file the user's settings, or another file that a record names */
export function revertNative(
  options: NativeOptions,
  file: string = settingsPath("user", options),
): SettingsChange {
  const change = unregister(oursIn(file, options), placed(options))
  if (!options.dryRun) removeIfEmpty(recordsIn(options))
  return change
}

/**
 * The same for each of these files that we have a record of, while something else of ours is taken out, too: what wrote
 * a file last goes first, so that its former bytes come back.
 */
export function revertNativeWith<T>(
  options: NativeOptions,
  files: readonly string[],
  other: () => T,
): { other: T; natives: SettingsChange[] } {
  const recorded = files.filter((file) => isRecorded(options, file))
  const first = recorded.filter((file) => wroteLast(options, file))
  const then = recorded.filter((file) => !first.includes(file))
  const revert = (file: string): SettingsChange => revertNative(options, file)
  const natives = first.map(revert)
  const done = other()
  return { other: done, natives: [...natives, ...then.map(revert)].filter(({ changed }) => changed) }
}

/** Files in which it is set, under whatever name of Claude Code's folder. */
export const filesWithNative = (places: HostFolders): string[] => recordedTargets(recordsIn(places))

function wroteLast(places: HostFolders, file: string): boolean {
  const target = targetOf(file)
  const bytes = readBytes(target)
  return bytes !== undefined && readRecord(recordsIn(places), target)?.wrote === hashOf(bytes)
}

const recordsIn = ({ dataHome }: HostFolders): string => join(dataHome, "prune")

const placed = (options: NativeOptions) => ({ dataHome: recordsIn(options), dryRun: options.dryRun })

const isRecorded = (places: HostFolders, file: string): boolean =>
  readRecord(recordsIn(places), targetOf(file)) !== undefined

function oursIn(file: string, places: HostFolders): Ours {
  const original = originalText(recordsIn(places), targetOf(file))
  return {
    file,
    folderMode: 0o700,
    // Values of the user's may be on the same lines.
    isPrivate: true,
    remove: (text) => removeNative(text, original),
    isEmpty: isEmptySettings,
  }
}
