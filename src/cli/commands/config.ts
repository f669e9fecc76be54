/** `ctxbridge config`: all options with their values and where those come from. */
import { variablesSet } from "../../config/load.ts"
import { type Key, OPTIONS, type Problem } from "../../config/options.ts"
import { OPTIONS_DOC } from "../../config/options-doc.ts"
import { unusedVariables } from "../../config/unused-variables.ts"
import { nearNames } from "../../util/edit-distance.ts"
import { usageError } from "../../util/errors.ts"
import { words } from "../args.ts"
import type { Command, Environment } from "../command.ts"
import { writeError } from "../output.ts"
import { createStyle, safe } from "../style.ts"
import { renderTable } from "../text-table.ts"

export default {
  meta: {
    name: "config",
    description: "Show the options: values, origins, allowed values",
    badOptions: "own",
  },
  args: {
    action: { type: "positional", required: true, description: "What to do", valueHint: "list|get" },
    // Takes all words, so that `set KEY VALUE` is reported as an unknown action.
    key: { type: "positional", rest: true, names: "option", description: "The option, for get" },
  },
  run({ args, env, out }) {
    const [action, ...rest] = words(args)
    const { problems } = env.resolved
    if (action !== "list" && action !== "get")
      throw usageError(`unknown action: ${action}`, `one of list, get; values are set in ${env.configFile}`)
    const [key] = rest
    const surplus = rest[action === "get" ? 1 : 0]
    if (surplus !== undefined) throw usageError(`unexpected argument: ${surplus}`, "ctxbridge config --help")
    if (action === "get") {
      if (key === undefined) throw usageError("which option?", "ctxbridge config list names them")
      const option = describe(env, keyNamed(key))
      const ignored = problems.filter((problem) => problem.key === key)
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
    const head = ["key", "value", "from", "allowed", "environment"].map((title) => ({ title }))
    const rows = options.map((o) => [o.key, String(o.value), o.origin, o.allowed, o.env.join(" ")])
    out.print(renderTable(head, rows, out.columns, createStyle(out.color)))
    out.print(`\nUser's file: ${env.configFile}`)
    for (const problem of problems) out.print(`Ignored: ${told(problem)}`)
    for (const broken of env.broken) out.print(`Cannot be read: ${safe(broken)}`)
    for (const { name, asks, instead } of unused)
      out.print(`No effect in this version: ${name} (${asks}): ${instead}`)
  },
} satisfies Command

const told = ({ key, origin, variable, message }: Problem): string =>
  safe(`${key} (${variable ?? origin}): ${message}`)

function keyNamed(name: string): Key {
  if (Object.hasOwn(OPTIONS, name)) return name as Key
  const [near] = nearNames(name, Object.keys(OPTIONS), 1)
  const hint = near === undefined ? "ctxbridge config list names them" : `did you mean ${near}?`
  throw usageError(`no such option: ${name}`, hint)
}

function describe({ config, resolved }: Environment, key: Key) {
  const { allowed, env, scope } = OPTIONS[key]
  const fallback = OPTIONS[key].default
  return {
    key,
    value: config[key],
    origin: resolved.origin[key],
    default: fallback,
    allowed,
    scope,
    env,
    doc: OPTIONS_DOC[key],
  }
}
