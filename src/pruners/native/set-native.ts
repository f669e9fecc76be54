/**
 * `prune native`: writes the settings, and takes them back. With records of its own, so that hooks that were registered
 * before or after are not touched.
 */
import { join } from "node:path"
import { decode, hashOf, readBytes, targetOf } from "../../host/edited-file.ts"
import { readOriginal, readRecord, removeIfEmpty } from "../../host/install-record.ts"
import { isEmptySettings } from "../../host/json-text.ts"
import { type Ours, register, type SettingsChange, unregister } from "../../host/register.ts"
import { type HostFolders, settingsPath } from "../../host/registration.ts"
import { addNative, type NativeWish, removeNative } from "./native-edit.ts"

interface NativeOptions extends HostFolders {
  /** Work out the change but write nothing. */
  readonly dryRun: boolean
}

/** Repeating it with the same wish changes nothing. */
export function setNative(options: NativeOptions, wish: NativeWish): SettingsChange {
  const { file, isKnown, original } = placeIn(options)
  const add = (text: string | undefined) => addNative(text, original, wish)
  const ours = { ...oursIn(options), add }
  if (isKnown) return register(ours, placed(options))
  // Without a record, nothing that is there is ours.
  const first = { ...ours, file, remove: (text: string) => ({ text, removed: [] }) }
  const tried = register(first, { ...placed(options), dryRun: true })
  return tried.changed ? register(first, placed(options)) : { ...tried, dryRun: options.dryRun }
}

export function revertNative(options: NativeOptions): SettingsChange {
  const change = unregister(oursIn(options), placed(options))
  if (!options.dryRun) removeIfEmpty(recordsIn(options))
  return change
}

/**
 * The same while something else of ours is taken out of the file, too: what wrote it last goes first, so that its former
 * bytes come back.
 */
export function revertNativeWith<T>(
  options: NativeOptions,
  other: () => T,
): { other: T; native: SettingsChange } {
  if (wroteLast(options)) {
    const native = revertNative(options)
    return { other: other(), native }
  }
  const done = other()
  return { other: done, native: revertNative(options) }
}

function wroteLast(places: HostFolders): boolean {
  const target = targetOf(settingsPath("user", places))
  const bytes = readBytes(target)
  return bytes !== undefined && readRecord(recordsIn(places), target)?.wrote === hashOf(bytes)
}

const recordsIn = ({ dataHome }: HostFolders): string => join(dataHome, "prune")

const placed = (options: NativeOptions) => ({ dataHome: recordsIn(options), dryRun: options.dryRun })

function oursIn(options: NativeOptions): Ours {
  const { file, original } = placeIn(options)
  return {
    file,
    folderMode: 0o700,
    // Values of the user's may be on the same lines.
    isPrivate: true,
    remove: (text) => removeNative(text, original),
    isEmpty: isEmptySettings,
  }
}

/** @returns `original`: the text before us, blank if there was no file; undefined: not known */
function placeIn(places: HostFolders) {
  const file = settingsPath("user", places)
  const home = recordsIn(places)
  const record = readRecord(home, targetOf(file))
  const before = record && readOriginal(home, record)
  const original = before === undefined || before === "absent" ? before && "" : decode(before)
  return { file, isKnown: record !== undefined, original }
}
