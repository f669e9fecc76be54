/**
 * What the model is reminded of before an action that failed in a project, rendered in advance: a hook before each tool
 * call has no time for the database (docs/adr/0053).
 *
 * A small file per project, which the background job writes while the option is on. Whoever removes something from the
 * vault removes the files at once; what is indexed meanwhile leaves them as they are, until the job comes.
 */
import { tryTo } from "../base/files.ts"
import { existsSync, readFileSync, rmSync } from "../base/fs.ts"
import { hashName, parseJson, writeJson } from "../base/json-files.ts"
import { join } from "../base/path.ts"
import { dropPointers } from "./pointers.ts"

export interface Reminder {
  /** The session in which it last failed. */
  readonly session: string
  /** When, in ms since the epoch; 0: unknown. */
  readonly time: number
  /** For the model. */
  readonly text: string
}

/** Goes up whenever the names of actions change, or the wording for the same failure. */
const WORDING = 1

interface RemindersFile {
  readonly wording: number
  /** By the hash of the action's name. */
  readonly actions: Readonly<Record<string, Reminder>>
}

/** Most of a project. The newest are kept. */
export const MOST_REMINDERS = 150
/** Bytes that a hook reads. */
const LARGEST = 128 << 10

const folder = (dataHome: string): string => join(dataHome, "reminders")

const fileOf = (dataHome: string, project: string): string =>
  join(folder(dataHome), `${hashName(project)}.json`)

/**
 * The first of these actions that something is to be said of.
 *
 * @param project as returned by `projectOf`
 * @param names made only if the project has any reminders
 */
export function reminderOf(
  dataHome: string,
  project: string,
  names: () => readonly string[],
): (Reminder & { readonly key: string }) | undefined {
  const file = fileOf(dataHome, project)
  if (!existsSync(file)) return undefined
  const text = tryTo(() => readFileSync(file, "utf8"))
  if (text === undefined || text.length > LARGEST) return undefined
  // Nearly always there is none: the text is not even parsed then.
  const keys = names()
    .map(hashName)
    .filter((key) => text.includes(key))
  if (keys.length === 0) return undefined
  const { wording, actions } = (parseJson(text) ?? {}) as Partial<RemindersFile>
  if (wording !== WORDING || actions === undefined) return undefined
  const key = keys.find((one) => Object.hasOwn(actions, one))
  return key === undefined ? undefined : { ...actions[key]!, key }
}

/**
 * Call inside a write transaction, before its commit.
 *
 * @param reminders by the action's name; the newest last
 */
export function writeReminders(
  dataHome: string,
  project: string,
  reminders: ReadonlyMap<string, Reminder>,
): void {
  const kept = [...reminders].slice(-MOST_REMINDERS)
  const actions = Object.fromEntries(kept.map(([name, reminder]) => [hashName(name), reminder]))
  const file = fileOf(dataHome, project)
  // If `forget` has just removed the folder, or the disk is full, nothing is said.
  tryTo(() =>
    kept.length === 0
      ? rmSync(file, { force: true })
      : writeJson(file, { wording: WORDING, actions } satisfies RemindersFile),
  )
}

export function dropReminders(dataHome: string): void {
  if (existsSync(folder(dataHome))) rmSync(folder(dataHome), { recursive: true, force: true })
}

/** Removes all that was made of the views for a moment without them: call where something has gone from the vault. */
export function dropPrepared(dataHome: string): void {
  dropPointers(dataHome)
  dropReminders(dataHome)
}
