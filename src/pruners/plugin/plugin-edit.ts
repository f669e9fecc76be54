/** Adds our plugin's folder to those that Claude Code loads, in the text of its settings, and removes it. Pure. */

import type { WithOurs, WithoutOurs } from "../../claude/install/register.ts"
import { variable, withFormer, withVariable } from "../../claude/install/settings-variable.ts"
import { splitBom } from "../../util/json-text.ts"

/** Folders with a colon between them. It counts in the user's own settings, not in a project's. */
export const PLUGIN_DIRS = "CLAUDE_CODE_PLUGIN_DIRS"

const foldersIn = (value: string | undefined): string[] =>
  (value ?? "").split(":").filter((one) => one !== "")

/** @param text undefined: the file does not exist */
export function addPluginFolder(text: string | undefined, folder: string): WithOurs {
  const [bom, source] = splitBom(text)
  const there = variable(source, PLUGIN_DIRS)
  const folders = foldersIn(there)
  if (folders.includes(folder)) return { text: bom + source, added: [], replaced: [] }
  const now = withVariable(source, PLUGIN_DIRS, [...folders, folder].join(":"))
  const names = [PLUGIN_DIRS]
  return {
    text: bom + now,
    added: there === undefined ? names : [],
    replaced: there === undefined ? [] : names,
  }
}

/** @param original the text before us; undefined: not known */
export function removePluginFolder(text: string, folder: string, original: string | undefined): WithoutOurs {
  const [bom, source] = splitBom(text)
  const folders = foldersIn(variable(source, PLUGIN_DIRS))
  if (!folders.includes(folder)) return { text, removed: [] }
  const left = folders.filter((one) => one !== folder)
  const former = original === undefined ? undefined : variable(original, PLUGIN_DIRS)
  const value = left.length === 0 ? former : left.join(":")
  return { text: bom + withFormer(source, PLUGIN_DIRS, value, original), removed: [PLUGIN_DIRS] }
}
