/** Arguments → command → exit code. Rarely needed modules are loaded on demand, because a search must start at once. */
import { version } from "../../package.json"
import {
  CtxError,
  codeOf,
  EXIT,
  isCtxError,
  isDamage,
  messageOf,
  usageError,
  VIEWS_LOST,
} from "../base/errors.ts"
import { existsSync } from "../base/fs.ts"
import { once } from "../base/once.ts"
import { ownProgram } from "../base/own-program.ts"
import { currentFolder, join } from "../base/path.ts"
import { nearest, oneLine, shellWord, withoutPasswords } from "../base/text.ts"
import { STDIN } from "../base/write-output.ts"
import { refusalOf } from "../config/config-text.ts"
import {
  loadSettings,
  type Paths,
  type PathsAndPolicy,
  resolvePlaces,
  type Settings,
  terminalTraits,
  wantsColor,
} from "../config/load.ts"
import { mayBeSpooled } from "../vault/spool-folders.ts"
import { cannotWrite } from "../views/unwritable.ts"
import { type ArgSpec, argsOf, type Command, type Environment } from "./command.ts"
import { ALIASES, COMMANDS, PLUMBING } from "./commands.ts"
import { createOutput, isTerminal, UNWRITTEN, writeError, writeErrorLine, writeOut } from "./output.ts"
import { createStyle, safe, safeJson } from "./style.ts"

/** Maximum ms that a command spends on moving over what hooks had to write elsewhere. */
const DRAIN = 5000

/** @param ready the command to run, if it is already loaded */
export async function runCli(argv: readonly string[], ready?: Command): Promise<void> {
  process.umask(0o077)
  // No handler for SIGINT, because JavaScript would only run it after a long synchronous step. The signal itself ends
  // us at once (128 + 2 = 130 in a shell), and every step is committed whole or not at all. What goes on from there, a
  // long command says beforehand (`resumable` in output.ts).
  try {
    process.exitCode = await dispatch(argv, ready)
  } catch (error) {
    const flags = endOfFlags(argv)
    process.exitCode = report(error, flags.includes("--json"), flags.includes("--debug"))
  }
}

async function dispatch(argv: readonly string[], ready?: Command): Promise<number> {
  const [name, ...rest] = argv
  if (name === undefined && isAtTerminal()) {
    if (await wantsImport()) await dispatch(["import"])
    return dispatch(["pick"])
  }
  if (name === undefined || name === "help" || name === "--help" || name === "-h") {
    const topic = name === undefined ? undefined : rest[0]
    if (name === "help" && topic !== undefined && topic !== "--all" && topic !== "-a")
      return dispatch([topic, "--help"])
    await printOverview(topic !== undefined)
    return name === undefined ? EXIT.usage : EXIT.ok
  }
  if (["--version", "-V", "-v", "version"].includes(name)) {
    writeOut(`ctxbridge ${version}\n`)
    return EXIT.ok
  }
  const [meant, ...given] =
    ready === undefined ? commandMeant(name, Object.keys(COMMANDS), rest).split(" ") : []
  const command = ready ?? (await COMMANDS[meant!]!()).default
  const flags = endOfFlags(rest)
  if (flags.includes("--help") || flags.includes("-h")) {
    await help(command)
    return EXIT.ok
  }
  return run(command, [...given, ...rest])
}

/** Whether whoever looks for the first time wants what is there archived first. */
async function wantsImport(): Promise<boolean> {
  const places = resolvePlaces()
  if (existsSync(join(places.dataHome, "vault"))) return false
  return (await import("./first-look.ts")).wantsImport(
    environment(places, once(load)),
    process.stdout.columns || 80,
  )
}

/** Whether somebody types here and looks on: then `ctxbridge` alone is the picker. */
const isAtTerminal = (): boolean =>
  isTerminal(STDIN) && isTerminal() && process.stdin.isTTY && process.stdout.isTTY && !terminalTraits().isDumb

async function run(command: Command, argv: readonly string[]): Promise<number> {
  const specs = argsOf(command)
  const places = resolvePlaces()
  const args = await parsed(argv, specs, command, places)
  const { badOptions } = command.meta
  const settings = badOptions === "unread" ? once(load) : await loaded()
  if (badOptions === undefined || badOptions === "told") refuse(settings(), badOptions === "told")
  const out = createOutput({
    json: args["json"] === true,
    color: once(() => wantsColor(isTerminal())),
    format: await formatWanted(args, command),
    links: () => settings().resolved.config["output.links"] !== "never",
    pager: args["no-pager"] === true ? undefined : shownInPager,
  })
  if (args["dry-run"] !== true && mayBeSpooled(places)) await emptySpool(settings().paths)
  try {
    const code = await command.run({ args, out, env: environment(places, settings) })
    await out.end()
    return code ?? EXIT.ok
  } catch (error) {
    out.clear()
    const { dataHome } = places
    const code = codeOf(error)
    // The check of the schema is loaded only when a table seems to be missing.
    if (
      code === VIEWS_LOST ||
      isDamage(error) ||
      (code === "SQLITE_ERROR" && (await isUnusable(dataHome, error)))
    ) {
      throw await lost(error, dataHome)
    }
    throw cannotWrite(error, dataHome) ?? error
  }
}

const shownInPager = async (text: string): Promise<boolean> => (await import("./pager.ts")).showInPager(text)

/** What makes lines of the command's document, if --format is given. */
async function formatWanted(
  args: Readonly<Record<string, unknown>>,
  { rows }: Command,
): Promise<((document: unknown) => readonly string[]) | undefined> {
  const format = args["format"]
  if (rows === undefined || typeof format !== "string") return undefined
  if (args["json"] === true) throw usageError("--format and --json cannot be used together")
  return (await import("./row-format.ts")).documentFormatter(format, rows)
}

async function parsed(
  argv: readonly string[],
  specs: Readonly<Record<string, ArgSpec>>,
  { meta }: Command,
  places: Paths,
): Promise<Record<string, unknown>> {
  try {
    return parseArguments(argv, specs, meta.name)
  } catch (error) {
    if (codeOf(error) !== MISSING_NAME) throw error
    const { withNewestName } = await import("./newest-name.ts")
    throw withNewestName(error as CtxError, places.dataHome, currentFolder(), meta.name, specs)
  }
}

const load = (): Settings => loadSettings(currentFolder())

async function loaded(): Promise<() => Settings> {
  const settings = load()
  if (settings.paths.secrets.patterns.length === 0) return () => settings
  const ready = (await import("../config/own-patterns.ts")).withOwnPatterns(settings)
  return () => ready
}

/** Stops or warns when an option has an invalid value, so that nobody believes it is in effect. */
function refuse(settings: Settings, goesOn: boolean): void {
  const refusal = refusalOf(settings)
  if (refusal === undefined) return
  if (!goesOn && !refusal.goesOn)
    throw new CtxError("config", refusal.message, { hint: refusal.hint, exit: EXIT.usage })
  writeErrorLine(`ignored: ${oneLine(safe(refusal.message))}`)
}

/** What cannot be moved stays, and `status` reports it; the current command may not need it. */
async function emptySpool(paths: PathsAndPolicy): Promise<void> {
  const [{ drainSpool }, { spawnJob }] = await Promise.all([
    import("../views/drain-spool.ts"),
    import("../job/spawn.ts"),
  ])
  const { transcripts = [] } = drainSpool(paths, performance.now() + DRAIN) ?? {}
  if (transcripts.length === 0) return
  try {
    // Claude Code may have added to the transcripts since.
    spawnJob(paths.dataHome, { transcripts, sweep: [], settle: false })
  } catch {
    // The disk is full again. The next hook or the hourly sweep finds the transcripts.
  }
}

const isUnusable = async (dataHome: string, error: unknown): Promise<boolean> =>
  (await import("../views/schema-shape.ts")).isUnusable(dataHome, error)

/** Starts a rebuild of the views and returns the error to report; the next call finds the new views. */
async function lost(error: unknown, dataHome: string): Promise<unknown> {
  const { askForRebuild } = await import("../job/spawn.ts")
  askForRebuild(dataHome)
  if (codeOf(error) === VIEWS_LOST) return error
  return new CtxError(VIEWS_LOST, `the database is damaged (${messageOf(error)}) and is being rebuilt`, {
    hint: "try again in a moment; the vault is not affected",
    cause: error,
  })
}

/** Reads configuration files only when a setting is asked for, which a search does not do. */
function environment(places: Paths, settings: () => Settings): Environment {
  return {
    ...places,
    cwd: currentFolder(),
    exePath: ownProgram(),
    get secrets() {
      return settings().paths.secrets
    },
    get exclude() {
      return settings().paths.exclude
    },
    get config() {
      return settings().resolved.config
    },
    get resolved() {
      return settings().resolved
    },
    get broken() {
      return settings().broken
    },
  }
}

async function help(command: Command): Promise<void> {
  const { renderHelp } = await import("./help.ts")
  const out = createOutput({ json: false, color: () => wantsColor(isTerminal()) })
  out.print(await renderHelp({ ...command, args: argsOf(command) }, out.columns, createStyle(out.color)))
  out.flush()
}

async function printOverview(isWhole: boolean): Promise<void> {
  const { overview, wholeOverview } = await import("./overview.ts")
  const style = createStyle(wantsColor(isTerminal()))
  writeOut(await (isWhole ? wholeOverview : overview)(style))
}

/** Hint for when another process held the lock for longer than we wait. */
const WAIT = "another process is writing to it; try again in a moment"
const BUG = "this is a bug in ctxbridge; --debug shows where"

function toldOnStdout(error: { code: string; message: string; hint: string | undefined }): boolean {
  try {
    if (error.code !== UNWRITTEN) writeOut(`${safeJson({ error })}\n`)
    return error.code !== UNWRITTEN
  } catch {
    return false
  }
}

function report(error: unknown, wantsJson: boolean, debug: boolean): number {
  const known = isCtxError(error)
  const isBusy = codeOf(error).startsWith("SQLITE_BUSY")
  const isSystem = /^E[A-Z0-9]+$/.test(codeOf(error))
  const code = known ? error.code : isBusy ? "busy" : isSystem ? "system" : "internal"
  const hint = known ? error.hint : isBusy ? WAIT : isSystem ? undefined : BUG
  const message = messageOf(error)
  if (!wantsJson || !toldOnStdout({ code, message, hint })) {
    // The message may contain file names and text from the archive.
    writeErrorLine(`ctxbridge: ${oneLine(safe(message))}`)
    if (hint !== undefined) writeErrorLine(`hint: ${oneLine(safe(hint))}`)
  }
  if (debug && error instanceof Error) writeError(`${safe(withoutPasswords(error.stack ?? ""))}\n`)
  return known ? error.exit : EXIT.failed
}

/* The command that a word means: its name, another program's name for it, or the beginning of one. Pure. */

const LISTED = "ctxbridge --help lists the commands"

/**
 * @returns its name, and the option that an alias stands for
 * @param names of all commands
 * @param others the words that follow it
 * @throws CtxError exit 64 if it means none, or several
 */
export function commandMeant(word: string, names: readonly string[], others: readonly string[] = []): string {
  if (names.includes(word)) return word
  if (Object.hasOwn(ALIASES, word)) return ALIASES[word]!
  if (word.startsWith("-")) throw usageError(`no command before ${word}`, LISTED)
  const begun = names.filter((name) => word.length > 1 && name.startsWith(word) && !PLUMBING.includes(name))
  if (begun.length === 1) return begun[0]!
  throw begun.length > 1 ? ambiguous(word, begun) : unknownCommand(word, names, others)
}

const ambiguous = (word: string, begun: readonly string[]): CtxError =>
  usageError(`${word} could be ${begun.slice(0, -1).join(", ")} or ${begun.at(-1)}`, "type one more letter")

/** A typo in a script must not become a search, but whoever typed words is told how to look for them. */
function unknownCommand(word: string, names: readonly string[], others: readonly string[]): CtxError {
  const near = nearest(word, names, 2)
  const isQuestion = others.every((other) => !other.startsWith("-"))
  const search = `ctxbridge search ${shellWord([word, ...others].join(" "))} looks for it`
  const meant = near === undefined ? undefined : `did you mean ${near}?`
  // One word is a typo; after several that nearly begin with a command, either may be meant.
  const isSearch = isQuestion && (near === undefined || others.length > 1)
  const hint = [meant, isSearch && search, meant === undefined && LISTED]
    .filter(Boolean)
    .join(meant ? " " : "; ")
  return usageError(`unknown command: ${word}`, hint)
}

/*
 * Parses the words of the command line into a command's arguments. Nothing is ignored: unknown options, surplus words
 * and missing values are errors. Pure.
 */

type Specs = Readonly<Record<string, ArgSpec>>

export const endOfFlags = (argv: readonly string[]): readonly string[] => {
  const end = argv.indexOf("--")
  return end < 0 ? argv : argv.slice(0, end)
}

/**
 * @returns values by the names in `specs`, and all words that are not options as `_rest`
 * @throws CtxError exit 64
 */
export function parseArguments(
  argv: readonly string[],
  specs: Specs,
  command: string,
): Record<string, unknown> {
  const { values, words } = read(argv, specs, command)
  let places = 0
  let takesAll = false
  let missing: string | undefined
  // A single plain loop: each command runs it just once, before it is compiled.
  for (const name in specs) {
    const { type, required, rest, default: otherwise } = specs[name]!
    if (type === "positional") {
      const word = words[places++]
      if (word !== undefined) values[name] = word
      takesAll ||= rest === true
    }
    if (values[name] !== undefined) continue
    if (otherwise !== undefined) values[name] = otherwise
    else if (type === "positional" && required === true) missing ??= name
  }
  const surplus = takesAll ? undefined : words[places]
  if (surplus !== undefined) {
    // Other commands take a session without an option.
    const hasSession = places === 0 && specs["session"] !== undefined
    const hint = hasSession ? `did you mean --session ${surplus}?` : helpOf(command)
    throw usageError(`unexpected argument: ${surplus}`, hint)
  }
  if (missing !== undefined) throw missingArgument(command, missing, specs[missing]!)
  values["_rest"] = words
  return values
}

/** Code of the error for an argument that is not there, whose choices only the archive knows. */
const MISSING_NAME = "missing-name"

const helpOf = (command: string): string => `ctxbridge ${command} --help`

function missingArgument(
  command: string,
  name: string,
  { valueHint = "", names, example }: ArgSpec,
): CtxError {
  const help = helpOf(command)
  const message = `${name.toUpperCase()} is missing`
  if (names !== undefined) return new CtxError(MISSING_NAME, message, { hint: help, exit: EXIT.usage })
  const choices = /^[a-z]/.test(valueHint) ? `one of ${valueHint.split("|").join(", ")}` : undefined
  const such = example && `such as ctxbridge ${command} ${example}; ${help} says more`
  return usageError(message, such ?? choices ?? help)
}

/** A word that can only be a file's name. */
const FILE = /^[^-].*\.[a-z]+$/i

function read(argv: readonly string[], specs: Specs, command: string) {
  const flagged = endOfFlags(argv)
  const values: Record<string, unknown> = {}
  const words: string[] = []
  for (let n = 0; n < flagged.length; n++) {
    const word = flagged[n]!
    if (!word.startsWith("-") || word === "-") {
      words.push(word)
      continue
    }
    const [flag, value] = splitFlag(word, specs)
    const name = nameOf(flag, specs)
    if (name === undefined) throw unknown(flag, specs, command)
    if (specs[name]!.type === "boolean") {
      const { file } = specs[name]!
      const isFile = file !== undefined && value === undefined && FILE.test(flagged[n + 1] ?? "")
      const named = isFile ? flagged[++n] : value
      if (named !== undefined && file === undefined)
        throw usageError(`${flag} takes no value`, `${flag} alone`)
      values[name] = true
      if (named !== undefined) values[file!] = named
      continue
    }
    const { bare } = specs[name]!
    if (bare !== undefined && value === undefined && !/^\d/.test(flagged[n + 1] ?? "")) {
      values[name] = bare
      continue
    }
    const next = value ?? flagged[++n]
    // An empty value is probably an unset variable. Ignoring the option would make the command do more than intended.
    const isFlag = value === undefined && next?.startsWith("--") === true
    if (next === undefined || next === "" || isFlag) {
      throw usageError(
        `${flag} needs a value`,
        isFlag
          ? `${flag}=… takes one that begins with --`
          : `${flag} ${specs[name]!.valueHint ?? name.toUpperCase()}`,
      )
    }
    values[name] = next
  }
  return { values, words: [...words, ...argv.slice(flagged.length + 1)] }
}

/** `--name=value`, or `-n5` where `-n` takes a value. */
function splitFlag(word: string, specs: Specs): readonly [flag: string, value: string | undefined] {
  const equals = word.indexOf("=")
  if (equals >= 0) return [word.slice(0, equals), word.slice(equals + 1)]
  const short = word.slice(0, 2)
  const name = word.length > 2 && !word.startsWith("--") ? nameOf(short, specs) : undefined
  return name !== undefined && specs[name]!.type === "string" ? [short, word.slice(2)] : [word, undefined]
}

/** Finds the option typed as `--name` or `-n`. */
function nameOf(flag: string, specs: Specs): string | undefined {
  const name = flag.slice(2)
  if (flag.startsWith("--")) {
    return Object.hasOwn(specs, name) && specs[name]!.type !== "positional" ? name : undefined
  }
  for (const one in specs) if (specs[one]!.alias === flag.slice(1)) return one
  return undefined
}

function unknown(flag: string, specs: Specs, command: string): CtxError {
  const flags = Object.entries(specs).flatMap(([name, { type, alias }]) =>
    // Whoever mistypes is never led to going ahead without being asked.
    type === "positional" || name === "yes"
      ? []
      : alias === undefined
        ? [`--${name}`]
        : [`--${name}`, `-${alias}`],
  )
  const isWord = /[a-z]/i.test(flag)
  // One letter is as near to any other one.
  const isLetter = flag.length === 2
  const near = isWord && !isLetter ? nearest(flag, flags, 2) : undefined
  if (near !== undefined) return usageError(`unknown option: ${flag}`, `did you mean ${near}?`)
  const takesWords = Object.values(specs).some(({ rest }) => rest === true)
  const dash = takesWords || !isWord ? "; put -- before words that begin with a dash" : ""
  return usageError(`unknown option: ${flag}`, `ctxbridge ${command} --help lists them${dash}`)
}
