/**
 * Arguments → command → exit code. The only importer of citty, which parses and renders help; what it lets pass
 * silently (unknown flags, surplus words, prototype names) is refused here.
 */
import { type ArgsDef, parseArgs, renderUsage } from "citty"
import { version } from "../../package.json"
import { drainSpool } from "../archive/drain.ts"
import { cannotWrite } from "../archive/unwritable.ts"
import { loadSettings, type Paths, wantsColor } from "../config/load.ts"
import { askForRebuild, spawnJob } from "../job/spawn.ts"
import { CtxError, codeOf, EXIT, isDamage, messageOf, usageError, VIEWS_LOST } from "../util/errors.ts"
import { type ArgSpec, type Command, type Environment, GLOBAL_ARGS } from "./command.ts"
import { COMMANDS } from "./commands.ts"
import { createOutput, isTerminal, writeOut } from "./output.ts"

/** ms that a command may spend on moving over what hooks had to write elsewhere. */
const DRAIN = 5000

export async function runCli(argv: readonly string[]): Promise<void> {
  process.umask(0o077)
  // No handler for SIGINT: JavaScript would hear of it only after a long synchronous step. The signal itself ends
  // us at once (128 + 2 = 130 in a shell), and every step is committed whole or not at all.
  const wantsJson = argv.includes("--json")
  try {
    process.exitCode = await dispatch(argv)
  } catch (error) {
    process.exitCode = report(error, wantsJson, argv.includes("--debug"))
  }
}

async function dispatch(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv
  if (name === undefined || name === "help" || name === "--help" || name === "-h") {
    const topic = name === "help" ? rest[0] : undefined
    if (topic !== undefined) return dispatch([topic, "--help"])
    writeOut(await overview())
    return name === undefined ? EXIT.usage : EXIT.ok
  }
  if (name === "--version" || name === "-V" || name === "version") {
    writeOut(`ctxbridge ${version}\n`)
    return EXIT.ok
  }
  const load = COMMANDS[name]
  if (load === undefined) throw unknownCommand(name)
  const command = (await load()).default
  const flags = endOfFlags(rest)
  if (flags.includes("--help") || flags.includes("-h")) {
    writeOut(await usage(command))
    return EXIT.ok
  }
  return run(command, rest)
}

const endOfFlags = (argv: readonly string[]): readonly string[] => {
  const end = argv.indexOf("--")
  return end < 0 ? argv : argv.slice(0, end)
}

async function run(command: Command, argv: readonly string[]): Promise<number> {
  const specs: Readonly<Record<string, ArgSpec>> = { ...command.args, ...GLOBAL_ARGS }
  checkFlags(argv, specs, command.meta.name)
  let args: Record<string, unknown>
  try {
    args = parseArgs([...argv], cittyArgs(specs)) as Record<string, unknown>
  } catch (error) {
    throw usageError(
      messageOf(error).replace(/[\x1b]\[[0-9;]*m/g, ""),
      `ctxbridge ${command.meta.name} --help`,
    )
  }
  const words = args["_"] as string[]
  const places = Object.values(specs).filter(({ type }) => type === "positional")
  if (words.length > places.length && !places.some(({ rest }) => rest)) {
    throw usageError(`unexpected argument: ${words[places.length]}`, `ctxbridge ${command.meta.name} --help`)
  }
  const settings = loadSettings(process.cwd())
  const out = createOutput({ json: args["json"] === true, color: wantsColor(isTerminal()) })
  if (args["dry-run"] !== true) emptySpool(settings.paths)
  try {
    const code = await command.run({ args: { ...args, _rest: words }, out, env: environment(settings) })
    out.flush()
    return code ?? EXIT.ok
  } catch (error) {
    const { dataHome } = settings.paths
    if (isDamage(error) || codeOf(error) === VIEWS_LOST) throw lost(error, dataHome)
    throw cannotWrite(error, dataHome) ?? error
  }
}

/** What cannot be moved over stays, and `status` tells of it: the command at hand may not need it. */
function emptySpool(paths: Paths): void {
  const { transcripts = [] } = drainSpool(paths, performance.now() + DRAIN) ?? {}
  if (transcripts.length === 0) return
  try {
    // The host may have added to them since.
    spawnJob(paths.dataHome, { transcripts, sweep: [], settle: false })
  } catch {
    // No room again: the next hook, or the hourly look through the folder, finds them.
  }
}

/** The views are being made anew behind the person's back; the next call finds them. */
function lost(error: unknown, dataHome: string): unknown {
  askForRebuild(dataHome)
  if (!isDamage(error)) return error
  return new CtxError(VIEWS_LOST, `the database is damaged (${messageOf(error)}) and is being made anew`, {
    hint: "try again in a moment; the vault is not touched by it",
    cause: error,
  })
}

function environment({ paths, resolved, broken }: ReturnType<typeof loadSettings>): Environment {
  return {
    ...paths,
    cwd: process.cwd(),
    exePath: process.execPath,
    config: resolved.config,
    resolved,
    broken,
  }
}

function cittyArgs(specs: Readonly<Record<string, ArgSpec>>): ArgsDef {
  return Object.fromEntries(
    Object.entries(specs).map(([name, { rest: _rest, ...spec }]) => [name, { required: false, ...spec }]),
  ) as ArgsDef
}

function checkFlags(
  argv: readonly string[],
  specs: Readonly<Record<string, ArgSpec>>,
  command: string,
): void {
  const flags = new Map<string, ArgSpec>()
  for (const [name, spec] of Object.entries(specs)) {
    if (spec.type === "positional") continue
    flags.set(`--${name}`, spec)
    if (spec.alias !== undefined) flags.set(`-${spec.alias}`, spec)
  }
  const words = endOfFlags(argv)
  for (let n = 0; n < words.length; n++) {
    const word = words[n]!
    if (!word.startsWith("-") || word === "-") continue
    const [name, value] = splitOnce(word, "=")
    const spec = flags.get(name)
    if (spec === undefined)
      throw usageError(`unknown option: ${name}`, suggestion(name, [...flags.keys()], command))
    if (spec.type === "boolean" && value !== undefined) throw usageError(`${name} takes no value`)
    if (spec.type === "string" && value === undefined) {
      n++
      if (words[n] === undefined || words[n]!.startsWith("--")) throw usageError(`${name} needs a value`)
    }
  }
}

function splitOnce(text: string, mark: string): [string, string | undefined] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + mark.length)]
}

function suggestion(name: string, known: readonly string[], command: string): string {
  const near = known.find((one) => distance(one, name) <= 2)
  return near === undefined ? `ctxbridge ${command} --help lists them` : `did you mean ${near}?`
}

function unknownCommand(name: string): CtxError {
  const near = Object.keys(COMMANDS).find((one) => distance(one, name) <= 2)
  return usageError(
    `unknown command: ${name}`,
    near === undefined ? "ctxbridge --help lists them" : `did you mean ${near}?`,
  )
}

/** Levenshtein's distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, change))
    }
    row = next
  }
  return row[b.length]!
}

/** Help for one command. */
export async function usage(command: Command): Promise<string> {
  const text = await renderUsage(
    {
      meta: { name: command.meta.name, description: command.meta.description },
      args: cittyArgs({ ...command.args, ...GLOBAL_ARGS }),
    },
    { meta: { name: "ctxbridge", version } },
  )
  return `${plain(text)}\n`
}

/** What `ctxbridge --help` prints. */
export async function overview(): Promise<string> {
  const lines: string[] = []
  for (const name of Object.keys(COMMANDS)) {
    const { meta } = (await COMMANDS[name]!()).default
    if (!meta.hidden) lines.push(`  ${name.padEnd(12)} ${meta.description}`)
  }
  return [
    `ctxbridge ${version}: a memory for Claude Code`,
    "",
    "Usage: ctxbridge <command> [options]",
    "",
    ...lines,
    `  ${"hook <event>".padEnd(12)} What Claude Code calls; reads its JSON on stdin`,
    "",
    "`ctxbridge <command> --help` explains one. Exit codes: 0 done, 1 failed, 3 nothing found, 64 usage.",
    "",
  ].join("\n")
}

const plain = (text: string): string => (wantsColor(isTerminal()) ? text : Bun.stripANSI(text))

function report(error: unknown, wantsJson: boolean, debug: boolean): number {
  const known = error instanceof CtxError
  const code = known ? error.code : "internal"
  const hint = known ? error.hint : "this is a defect of ctxbridge; --debug shows where"
  const message = messageOf(error)
  if (wantsJson) writeOut(`${JSON.stringify({ error: { code, message, hint } })}\n`)
  else {
    process.stderr.write(`ctxbridge: ${message}\n`)
    if (hint !== undefined) process.stderr.write(`hint: ${hint}\n`)
  }
  if (debug && error instanceof Error) process.stderr.write(`${error.stack}\n`)
  return known ? error.exit : EXIT.failed
}
