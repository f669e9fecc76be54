/**
 * Adds what `prune native` sets to the text of Claude Code's settings, and removes it: variables in `env`, which reach
 * every version and come before those of the shell. Never changes a value of the user's.
 *
 * Text in, text out. Pure: every byte that is not ours stays as it is.
 */

import type { WithOurs, WithoutOurs } from "../../claude/install/register.ts"
import { variable, withFormer, withVariable } from "../../claude/install/settings-variable.ts"
import { CtxError } from "../../util/errors.ts"
import { splitBom } from "../../util/json-text.ts"
import {
  type ClearingWish,
  clearsResults,
  hasOurForm,
  withClearing,
  withoutClearing,
} from "./request-edits.ts"

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
