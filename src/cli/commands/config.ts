/** `ctxbridge config`: all options with their values and where those come from. */

import { existsSync, mkdirSync } from "node:fs"
import { encode, readText, replaceFile, targetOf } from "../../base/edited-file.ts"
import { CtxError, isCtxError, messageOf, usageError } from "../../base/errors.ts"
import { dirname } from "../../base/path.ts"
import { addressShown, nearNames, withoutPasswords } from "../../base/text.ts"
import { oneAtATime } from "../../claude/install/footprint.ts"
import { hookStatus } from "../../claude/install/hook-status.ts"
import { claudeTable } from "../../claude/install/hooks-table.ts"
import type { SettingsChange } from "../../claude/install/register.ts"
import { install } from "../../claude/install/registration.ts"
import { withOption, withoutOption } from "../../config/config-text.ts"
import { loadSettings, userEditor, variablesSet } from "../../config/load.ts"
import { isRemoved, type Key, OPTIONS, optionNamed, type Problem } from "../../config/options.ts"
import { OPTIONS_DOC } from "../../config/options-doc.ts"
import { unusedVariables } from "../../config/unused-variables.ts"
import { startRenewing } from "../../job/spawn.ts"
import { parseBudget } from "../../restore/window/budget-use.ts"
import { databasePath } from "../../views/database.ts"
import { dropReminders } from "../../views/reminders.ts"
import { unknownWord, words } from "../args.ts"
import { renderPairs } from "../block.ts"
import type { Command, Context, Environment } from "../command.ts"
import { isTerminal, writeError } from "../output.ts"
import { type Screen, screenOf, wrapped, wrappedIn } from "../screen.ts"
import { createStyle, safe } from "../style.ts"

const ACTIONS = ["list", "get", "set", "unset", "edit", "describe"] as const
type Action = (typeof ACTIONS)[number]
const isAction = (word: string): word is Action => (ACTIONS as readonly string[]).includes(word)

/** How many words each takes. */
const WORDS: Readonly<Record<Action, number>> = { list: 0, get: 1, set: 2, unset: 1, edit: 0, describe: 1 }

export default {
  meta: {
    name: "config",
    description: "Show, set and explain the options",
    badOptions: "own",
  },
  args: {
    action: { type: "positional", description: "What to do (default: list)", valueHint: ACTIONS.join("|") },
    key: {
      type: "positional",
      rest: true,
      names: "option",
      description: "The option, for get, describe, set and unset; for set, also its value",
    },
  },
  run(context) {
    const { args, env, out } = context
    const [action = "list", ...rest] = words(args)
    const { problems } = env.resolved
    if (!isAction(action)) throw unknownWord("action", action, ACTIONS)
    const [key, value] = rest
    const surplus = rest[WORDS[action]]
    if (surplus !== undefined) throw usageError(`unexpected argument: ${surplus}`, "ctxbridge config --help")
    if (WORDS[action] > 0 && key === undefined)
      throw usageError("which option?", "ctxbridge config list shows them")
    if (action === "edit") return editConfig(context)
    if (action === "set") {
      if (value === undefined) throw usageError(`which value for ${key}?`, `ctxbridge config describe ${key}`)
      return setOption(context, keyNamed(key!), value)
    }
    if (action === "unset") return unsetOption(context, keyNamed(key!))
    if (action === "describe") {
      const option = describe(env, keyNamed(key!))
      out.json(option)
      out.print(explained(option))
      return
    }
    if (action === "get") {
      const option = describe(env, keyNamed(key!))
      const ignored = problems.filter((problem) => problem.key === option.key)
      out.print(String(option.value))
      // On stderr, because stdout is for the value.
      const lines = [...ignored.map(told), ...env.broken.map(safe)]
      if (!out.wantsJson) for (const line of lines) writeError(`ignored: ${line}\n`)
      out.json({ ...option, problems: ignored })
      return
    }
    const options = (Object.keys(OPTIONS) as Key[]).map((one) => describe(env, one))
    const unused = unusedVariables(variablesSet())
    out.json({ file: env.configFile, options, problems, brokenFiles: env.broken, unused })
    out.print(listed(options, screenOf(out)))
    out.print(`\nYour file: ${env.configFile}`)
    if (options.some(({ origin }) => origin !== "default"))
      out.print(
        wrapped(
          "*: set there or elsewhere; ctxbridge config unset OPTION takes it out of your file",
          out.columns,
        ),
      )
    out.print(
      wrapped(
        "ctxbridge config describe OPTION says what it may be, and which variable sets it",
        out.columns,
      ),
    )
    for (const problem of problems) out.print(`Ignored: ${told(problem)}`)
    for (const broken of env.broken) out.print(`Cannot read: ${safe(broken)}`)
    for (const { name, asks, instead } of unused)
      out.print(`No effect in this version: ${name} (${asks}): ${instead}`)
  },
} satisfies Command

const told = ({ key, origin, variable, message }: Problem): string =>
  safe(`${key} (${variable ?? origin}): ${message}`)

function keyNamed(name: string): Key {
  const key = optionNamed(name)
  if (key !== undefined) return key
  if (isRemoved(name)) throw usageError(`${name} no longer exists`, "nothing has taken its place")
  const [near] = nearNames(name, Object.keys(OPTIONS), 1)
  const hint = near === undefined ? "ctxbridge config list shows them" : `did you mean ${near}?`
  throw usageError(`no such option: ${name}`, hint)
}

function explained({ key, value, origin, default: standard, allowed, env, doc, scope }: Described): string[] {
  return [
    doc,
    "",
    ...renderPairs(
      [
        [key, `${value} (${origin})`],
        ["default", String(standard)],
        ["allowed", allowed],
        ["environment", env.join(", ") || "none"],
        [
          "in a project",
          scope === "any" ? "a project's .ctxbridge.toml may set it" : "only your own file may set it",
        ],
        ...(origin === "user" ? ([["back", `ctxbridge config unset ${key}`]] as const) : []),
      ],
      createStyle(false),
    ),
  ].map(safe)
}

type Described = ReturnType<typeof describe>

/** Before an option that is not as it is by default. */
const OWN = "* "
const FROM = { user: "your file", project: "the project's file", env: "the environment" } as const
/** Columns of a value; longer ones have what the option is for below them. */
const VALUE = 12
/** Columns of text beside them that are enough to read it. */
const LEAST = 30

/** A line or a few for each option: its value, what it is for in a sentence, and where it comes from if not by default. */
function listed(options: readonly Described[], { columns, style }: Screen): string[] {
  const name = Math.max(...options.map(({ key }) => key.length)) + 2 + OWN.length
  const beside = columns - name - VALUE - 2
  let group = ""
  return options.flatMap(({ key, value, origin, doc }) => {
    const [sentence = ""] = doc.split(/(?<=\.) (?=[A-Z`])/)
    const about = safe(origin === "default" ? sentence : `(${FROM[origin]}) ${sentence}`)
    const mark = origin === "default" ? "  " : OWN
    const shown = safe(String(value)) || "-"
    const valued = origin === "default" ? shown : style.bold(shown)
    const [before, now] = [group, key.slice(0, key.indexOf("."))]
    group = now
    const gap = before === "" || before === now ? [] : [""]
    if (beside < LEAST)
      return [...gap, `${mark}${key}  ${valued}`, ...wrappedIn("  ", about, columns).map(style.dim)]
    const [first = "", ...more] = wrapped(about, beside)
    const indent = " ".repeat(name + VALUE + 2)
    const head = `${mark}${key.padEnd(name - OWN.length)}${valued}`
    const rest = more.map((line) => indent + style.dim(line))
    if (Bun.stringWidth(shown) > VALUE) return [...gap, head, indent + style.dim(first), ...rest]
    const blank = " ".repeat(VALUE + 2 - Bun.stringWidth(shown))
    return [...gap, head + blank + style.dim(first), ...rest]
  })
}

function describe({ config, resolved }: Environment, key: Key) {
  const { allowed, env, scope } = OPTIONS[key]
  const fallback = OPTIONS[key].default
  const value = config[key]
  return {
    key,
    value: typeof value === "string" ? addressShown(value) : value,
    origin: resolved.origin[key],
    default: fallback,
    allowed,
    scope,
    env,
    doc: OPTIONS_DOC[key],
  }
}

/* `ctxbridge config set` and `edit`: changes of the user's own file. */

const isWindows = process.platform === "win32"

const FIRST_LINE =
  "# ctxbridge config list shows the options, ctxbridge config describe OPTION explains one.\n"

function setOption({ env, out }: Context, key: Key, typed: string): void {
  const value = OPTIONS[key].parse(typed)
  // What a budget means is decided where it is counted: one of nothing is none.
  const isNothing = key.startsWith("budget.") && value !== "" && parseBudget(String(value)) === undefined
  if (value === undefined || isNothing)
    throw usageError(
      `${key} cannot be ${JSON.stringify(addressShown(typed))}`,
      `allowed: ${OPTIONS[key].allowed}`,
    )
  writeOption(env, key, literalOf(value, typed))
  const { origin } = env.resolved
  const isHidden = origin[key] !== "user" && origin[key] !== "default"
  const shown = typeof value === "string" ? addressShown(value) : value
  const hooks = key === "recall.actions" ? followedByHooks(env) : undefined
  out.json({
    file: env.configFile,
    key,
    value: shown,
    ...(isHidden && { hiddenBy: origin[key] }),
    ...(hooks && { hooks }),
  })
  out.print(`${key} = ${safe(String(shown))} in ${safe(env.configFile)}`)
  if (isHidden) out.print(`It has no effect here: ${hiddenBy(env, key)}.`)
  for (const line of hooks === undefined ? [] : hookLines(hooks)) out.print(safe(line))
}

const hiddenBy = ({ config, resolved }: Environment, key: Key): string =>
  `${safe(addressShown(String(config[key])))} comes from the ${resolved.origin[key]}`

/** Takes an option out of the user's own file: what counts then is the default, or what somebody else has set. */
function unsetOption({ env, out }: Context, key: Key): void {
  const file = targetOf(env.configFile)
  const before = readText(file) ?? ""
  const { former } = OPTIONS[key]
  const without = withoutOption(before, key)
  const after = without === undefined || former === undefined ? without : withoutOption(without, former)
  if (after === undefined) throw notByUs(file)
  const isThere = after !== before
  if (isThere) write(file, after, before)
  const hooks = isThere && key === "recall.actions" ? followedByHooks(env) : undefined
  const { config, origin } = loadSettings(env.cwd).resolved
  const value = addressShown(String(config[key]))
  out.json({ file: env.configFile, key, unset: isThere, value, origin: origin[key], ...(hooks && { hooks }) })
  const from = origin[key] === "default" ? "the default" : `from the ${origin[key]}`
  const now = `${key} is ${safe(value) || "empty"}, ${from}`
  out.print(isThere ? `${now} again` : `Your file does not set it: ${now}`)
  for (const line of hooks === undefined ? [] : hookLines(hooks)) out.print(safe(line))
}

/** What was done to the hooks of a settings file. */
type HooksFollowed = Pick<SettingsChange, "file" | "changed"> & {
  /** Why nothing could be done. */
  readonly problem?: string
}

/**
 * Registers the hook before tools where ours are registered, or takes it out, as the option now says. A project's shared
 * file is its people's, who have options of their own.
 */
function followedByHooks(env: Environment): HooksFollowed[] {
  const { config } = loadSettings(env.cwd).resolved
  const table = claudeTable(config)
  const changes = oneAtATime(env.home, () =>
    hookStatus(env, env.exePath, table)
      .filter(({ scope }) => scope !== "project")
      .flatMap(({ scope, file, installed, stale, problem }): HooksFollowed[] => {
        if (problem !== undefined) return [{ file, changed: false, problem }]
        if (installed.length + stale.length === 0) return []
        return [{ file, changed: install({ ...env, scope, table }).changed }]
      }),
  )
  if (!config["recall.actions"]) dropReminders(env.dataHome)
  // The first reminders are of what the archive holds already.
  else if (existsSync(databasePath(env.dataHome))) startRenewing(env.dataHome)
  return changes
}

function hookLines(changes: readonly HooksFollowed[]): string[] {
  if (changes.length === 0) return ["No hooks are registered yet: `ctxbridge install` registers them."]
  return changes.map(({ file, changed, problem }) =>
    problem !== undefined
      ? `The hooks in ${file} are as they were: ${problem}`
      : changed
        ? `The hooks in ${file} follow; sessions that are open keep theirs.`
        : `The hooks in ${file} are as they should be.`,
  )
}

/**
 * Sets an option in the user's own file.
 *
 * @param literal the value in TOML
 * @throws CtxError `config` if the file cannot be edited safely; it is unchanged then
 */
export function writeOption(
  { configFile }: Pick<Environment, "configFile">,
  key: Key,
  literal: string,
): void {
  const file = targetOf(configFile)
  const before = readText(file)
  const after = withOption(before ?? FIRST_LINE, key, literal)
  if (after === undefined) throw notByUs(file)
  write(file, after, before)
}

/** Numbers and sizes as they were typed, where TOML has them. */
function literalOf(value: unknown, typed: string): string {
  if (typeof value === "number")
    return /^\d+(\.\d+)?$/.test(typed.trim()) ? typed.trim() : JSON.stringify(typed)
  return JSON.stringify(value)
}

/** @returns exit code of the editor */
function editConfig({ env, out }: Context): number {
  const file = targetOf(env.configFile)
  const editor = userEditor() ?? (isTerminal() ? (isWindows ? "notepad" : "vi") : undefined)
  if (editor === undefined) throw usageError("no editor is set", `set EDITOR, or edit ${env.configFile}`)
  if (readText(file) === undefined) write(file, FIRST_LINE, undefined)
  // Windows has no shell that everybody has; there, the value is a path, or words.
  const command = !isWindows
    ? ["sh", "-c", `${editor} "$1"`, "sh", file]
    : existsSync(editor)
      ? [editor, file]
      : [...editor.split(" "), file]
  const { exitCode } = Bun.spawnSync(command, {
    stdio: ["inherit", "inherit", "inherit"],
  })
  const { broken, resolved } = loadSettings(env.cwd)
  for (const text of broken) out.print(`Cannot read: ${safe(withoutPasswords(text))}`)
  for (const { key, message } of resolved.problems) out.print(`Ignored: ${safe(`${key}: ${message}`)}`)
  out.json({ file: env.configFile, broken, problems: resolved.problems })
  return exitCode
}

function write(file: string, text: string, before: string | undefined): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    replaceFile(file, encode(text), before === undefined ? null : encode(before))
  } catch (cause) {
    if (isCtxError(cause)) throw cause
    // Behind the comma is a file that nobody has heard of.
    throw new CtxError("config", `cannot write ${file}: ${messageOf(cause).split(",", 1)[0]}`, {
      hint: "check who may write there; a variable sets an option, too: ctxbridge config describe OPTION",
      cause,
    })
  }
}

const notByUs = (file: string): CtxError =>
  new CtxError("config", `${file} cannot be edited safely, and was left unchanged`, {
    hint: "ctxbridge config edit opens it in your editor",
  })
