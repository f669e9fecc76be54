/** `prune native`: whether a program can have old results cleared by the API, whether it has, and how that is set. */

import { hashOf, readBytes, targetOf } from "../base/edited-file.ts"
import { CtxError, isCtxError } from "../base/errors.ts"
import {
  hasSiblings,
  inserted,
  isBlankJson,
  isEmptySettings,
  type JsonNode,
  keyOf,
  member,
  parseObject,
  rewritten,
  shapeError,
  splitBom,
  without,
} from "../base/json-text.ts"
import { join } from "../base/path.ts"
import type { Installed } from "../claude/install/clients.ts"
import {
  type Ours,
  originalText,
  readRecord,
  recordedTargets,
  register,
  removeIfEmpty,
  type SettingsChange,
  unregister,
  type WithOurs,
  type WithoutOurs,
} from "../claude/install/register.ts"
import type { ClaudeFolders } from "../claude/install/registration.ts"
import { variable, withFormer, withVariable } from "../claude/install/settings-edit.ts"
import { type ClaudeEnvironment, settingsPath, type VariableValue } from "../claude/settings/read-settings.ts"
import { atLeast, CLEARS_FROM } from "../claude/versions.ts"
import type { WayState } from "./way.ts"

/** With these, Claude Code does not ask for the beta, or talks to an API that does not know it. */
const AGAINST: Readonly<Record<string, string>> = {
  CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS: "keeps Claude Code from asking for the beta that it needs",
  CLAUDE_CODE_USE_BEDROCK: "sends requests to an API that may refuse it",
  CLAUDE_CODE_USE_VERTEX: "sends requests to an API that may refuse it",
  CLAUDE_CODE_USE_FOUNDRY: "sends requests to an API that may refuse it",
}

export function nativeWay({ version }: Installed, environment: ClaudeEnvironment): WayState {
  const unsupported = whyNot(version, environment)
  const [first] = environment.extraBody
  const ours = environment.extraBody.find(({ value }) => clearsResults(value))
  const isActive = ours !== undefined && ours === first
  return {
    way: "native",
    ...(unsupported === undefined ? {} : { unsupported }),
    isActive,
    ...(ours === undefined
      ? {}
      : { detail: isActive ? setIn(ours) : `${setIn(ours)}, but ${hiddenBy(first!)}` }),
  }
}

const placeOf = ({ from }: VariableValue): string =>
  from === "environment" ? "the environment" : `the ${from} settings`

const setIn = (value: VariableValue): string => `set in ${placeOf(value)}`

const hiddenBy = (value: VariableValue): string =>
  `${placeOf(value)} set CLAUDE_CODE_EXTRA_BODY to something else, and come first`

function whyNot(version: string | undefined, { names }: ClaudeEnvironment): string | undefined {
  if (version === undefined) return "its version is not known"
  if (!atLeast(version, CLEARS_FROM))
    return `${version} does not ask for the API's beta in all its requests; ${CLEARS_FROM.join(".")} and later do`
  const [name] = Object.keys(AGAINST).filter((one) => names.has(one))
  return name && `${name} is set, which ${AGAINST[name]}`
}

/*
 * `prune native`: writes the settings, and takes them back. With records of its own, so that hooks that were registered
 * before or after are not touched.
 */

interface NativeOptions extends ClaudeFolders {
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
export const filesWithNative = (places: ClaudeFolders): string[] => recordedTargets(recordsIn(places))

function wroteLast(places: ClaudeFolders, file: string): boolean {
  const target = targetOf(file)
  const bytes = readBytes(target)
  return bytes !== undefined && readRecord(recordsIn(places), target)?.wrote === hashOf(bytes)
}

const recordsIn = ({ dataHome }: ClaudeFolders): string => join(dataHome, "prune")

const placed = (options: NativeOptions) => ({ dataHome: recordsIn(options), dryRun: options.dryRun })

const isRecorded = (places: ClaudeFolders, file: string): boolean =>
  readRecord(recordsIn(places), targetOf(file)) !== undefined

function oursIn(file: string, places: ClaudeFolders): Ours {
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

/*
 * Adds what `prune native` sets to the text of Claude Code's settings, and removes it: variables in `env`, which reach
 * every version and come before those of the shell. Never changes a value of the user's.
 *
 * Text in, text out. Pure: every byte that is not ours stays as it is.
 */

export const EXTRA_BODY = "CLAUDE_CODE_EXTRA_BODY"
const WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
const PERCENT = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
const NUMBERS = [WINDOW, PERCENT]

export interface NativeWish {
  /** undefined: what is there stays. */
  readonly clearing: ClearingWish | undefined
  /** Tokens that Claude Code counts on. */
  readonly window: number | undefined
  /** Share of the usable window at which it compacts, in percent. */
  readonly percent: number | undefined
}

/**
 * @param text undefined: the file does not exist
 * @param original the text before us, blank if there was no file; undefined: we were not there
 */
export function addNative(
  text: string | undefined,
  original: string | undefined,
  wish: NativeWish,
): WithOurs {
  const [bom, source] = splitBom(text)
  const users = original ?? source
  const wanted = new Map<string, string>()
  const theirs = variable(users, EXTRA_BODY)
  // The user's own clearing stays as it is.
  if (wish.clearing !== undefined && !clearsResults(theirs))
    wanted.set(EXTRA_BODY, withClearing(variable(source, EXTRA_BODY) ?? "", wish.clearing))
  for (const [name, number] of [
    [WINDOW, wish.window],
    [PERCENT, wish.percent],
  ] as const) {
    if (number === undefined) continue
    const there = variable(users, name)
    if (there !== undefined && there !== String(number)) throw taken(name, there)
    wanted.set(name, String(number))
  }
  let now = source
  const added: string[] = []
  const replaced: string[] = []
  for (const [name, value] of wanted) {
    const before = variable(now, name)
    if (before === value) continue
    ;(before === undefined ? added : replaced).push(name)
    now = withVariable(now, name, value)
  }
  return { text: bom + now, added, replaced }
}

const taken = (name: string, value: string): CtxError =>
  new CtxError("settings-taken", `env.${name} is ${value}, set by you`, {
    hint: "change it there, or take it out first; nothing was changed",
  })

/** @param original as above; undefined: it is lost, and only what nobody else writes is taken for ours */
export function removeNative(text: string, original: string | undefined): WithoutOurs {
  const [bom, source] = splitBom(text)
  const removed: string[] = []
  let now = source
  const value = variable(source, EXTRA_BODY)
  const former = original === undefined ? undefined : variable(original, EXTRA_BODY)
  const isOurs = original === undefined ? value !== undefined && hasOurForm(value) : !clearsResults(former)
  if (value !== undefined && isOurs && clearsResults(value)) {
    now = withFormer(now, EXTRA_BODY, withoutClearing(value, former) ?? former, original)
    removed.push(EXTRA_BODY)
  }
  for (const name of original === undefined ? [] : NUMBERS) {
    if (variable(now, name) === undefined || variable(original!, name) !== undefined) continue
    now = withFormer(now, name, undefined, original)
    removed.push(name)
  }
  return { text: bom + now, removed }
}

/*
 * What Claude Code adds to each of its requests (`CLAUDE_CODE_EXTRA_BODY`, a JSON object), with the edit of ours: old
 * results of tools are cleared by the API before the model sees them. Whatever else is in it stays as it is written.
 *
 * It takes the place of Claude Code's own `context_management`, which only keeps all thinking. We do not repeat that:
 * the value goes into every request, and the API refuses that edit in those without thinking (docs/adr/0025).
 *
 * Text in, text out. Pure.
 */

const MANAGEMENT = "context_management"
const CLEAR_RESULTS = "clear_tool_uses_20250919"

interface ClearingWish {
  /** Tokens of a request from which on results are cleared. */
  readonly trigger: number
  /** The latest results that stay. */
  readonly keep: number
  /** Tokens that a clearing must save: each costs the API's cache from there on. */
  readonly atLeast: number
}

const editFor = ({ trigger, keep, atLeast }: ClearingWish): object => ({
  type: CLEAR_RESULTS,
  trigger: { type: "input_tokens", value: trigger },
  keep: { type: "tool_uses", value: keep },
  clear_at_least: { type: "input_tokens", value: atLeast },
})

/** The value with our edit behind those that are there, or in the place of one of the same type. */
export function withClearing(value: string, wish: ClearingWish): string {
  const edit = editFor(wish)
  if (isBlankJson(value)) return JSON.stringify({ [MANAGEMENT]: { edits: [edit] } })
  const root = parse(value)
  const management = member(root, MANAGEMENT)
  if (management === undefined) return inserted(value, root, MANAGEMENT, { edits: [edit] })
  const edits = member(management, "edits")
  if (edits === undefined) return inserted(value, management, "edits", [edit])
  const there = clearings(edits)[0]
  if (there === undefined) return inserted(value, edits, undefined, edit)
  const written = JSON.stringify(edit)
  return JSON.stringify(JSON.parse(textOf(value, there))) === written
    ? value
    : rewritten(value, there, written)
}

/**
 * The value without our edit and what was there for it alone; `undefined` if nothing is left.
 *
 * @param former the value before us; undefined if there was none
 */
export function withoutClearing(value: string, former: string | undefined): string | undefined {
  const edits = member(member(parse(value), MANAGEMENT), "edits")
  const [ours] = edits === undefined ? [] : clearings(edits)
  if (ours === undefined) return value
  const before = former === undefined || isBlankJson(former) ? undefined : parse(former)
  const listed = member(member(before, MANAGEMENT), "edits")
  const list = ours.parent!
  const management = list.parent!.parent!
  const emptied =
    hasSiblings(ours) || listed !== undefined
      ? ours
      : hasSiblings(list.parent!) || member(before, MANAGEMENT) !== undefined
        ? list.parent!
        : management.parent!
  if (emptied === management.parent && !hasSiblings(emptied) && before === undefined) return undefined
  return without(value, emptied)
}

/** Whether results are cleared with this value. Anything that Claude Code cannot read clears nothing. */
export const clearsResults = (value: string | undefined): boolean => clearingKeys(value) !== undefined

/** Whether its clearing has the form that we write, whatever the numbers. */
const hasOurForm = (value: string): boolean => clearingKeys(value) === OUR_KEYS

const OUR_KEYS = Object.keys(editFor({ trigger: 0, keep: 0, atLeast: 0 })).join()

/** The keys of the clearing that is there. */
function clearingKeys(value: string | undefined): string | undefined {
  try {
    const edits = member(member(parse(value ?? ""), MANAGEMENT), "edits")
    const [clearing] = edits === undefined ? [] : clearings(edits)
    return clearing?.children?.map(keyOf).join()
  } catch (error) {
    if (isCtxError(error)) return undefined
    throw error
  }
}

const clearings = (edits: JsonNode): JsonNode[] =>
  (edits.children ?? []).filter((edit) => member(edit, "type")?.value === CLEAR_RESULTS)

const textOf = (text: string, { offset, length }: JsonNode): string => text.slice(offset, offset + length)

/** @throws CtxError for what Claude Code would not take, or the API refuse */
function parse(value: string): JsonNode {
  const root = parsed(value)
  const management = member(root, MANAGEMENT)
  if (management !== undefined && management.type !== "object")
    throw shapeError(MANAGEMENT, "an object", management)
  const edits = member(management, "edits")
  if (edits !== undefined && edits.type !== "array")
    throw shapeError(`${MANAGEMENT}.edits`, "an array", edits)
  return root
}

function parsed(value: string): JsonNode {
  try {
    return parseObject(value)
  } catch (cause) {
    if (!isCtxError(cause)) throw cause
    throw new CtxError("settings-shape", `env.CLAUDE_CODE_EXTRA_BODY is no JSON object: ${cause.message}`, {
      hint: "nothing was changed; correct or remove it and try again",
      cause,
    })
  }
}
