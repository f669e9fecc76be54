/**
 * Adds, updates and removes our hooks in the text of a settings file of Claude Code's, or of an agent whose file has the
 * same form.
 *
 * Text in, text out; no files. Every byte that is not ours stays as it is.
 */
import {
  hasSiblings,
  inserted,
  isBlankJson,
  type JsonNode,
  keyOf,
  member,
  parseObject,
  rewritten,
  shapeError,
  splitBom,
  treeOf,
  without,
  withValue,
  written,
} from "../../base/json-text.ts"
import { HOOK_LABEL } from "../hooks.ts"
import { CLAUDE_TABLE, type HookTable } from "./hooks-table.ts"
import type { WithOurs, WithoutOurs } from "./register.ts"

/**
 * `text` with all our hooks calling `exePath`. An `undefined` text is a file that does not exist.
 *
 * @param labels whether hooks of earlier versions get the label that they lack
 */
export function addHooks(
  text: string | undefined,
  exePath: string,
  labels = true,
  table = CLAUDE_TABLE,
): WithOurs {
  const wanted = table.events.map((event) => [event, table.command(exePath, event)] as const)
  const [bom, source] = splitBom(text)
  if (isBlankJson(source)) {
    const hooks = Object.fromEntries(wanted.map(([event, command]) => [event, [table.entry(command, event)]]))
    return { text: bom + written(source, { hooks }), added: [...table.events], replaced: [] }
  }
  const added: string[] = []
  const others: string[] = []
  let now = source
  for (const event of new Set(eventsOf(source))) {
    if (table.events.includes(event) || ours(source, event, table).length === 0) continue
    now = drop(now, event, table, (path) => path === "hooks")
    others.push(event)
  }
  for (const [event, command] of wanted) {
    const found = ours(now, event, table)
    const next = settle(now, event, command, found, { labels, table })
    if (next !== now) (found.length > 0 ? others : added).push(event)
    now = next
  }
  return { text: bom + now, added, replaced: others }
}

/**
 * `text` without our hooks, and without the groups, lists and `hooks` object that only we had filled. Those that exist
 * in `original`, the text before our install, stay even if empty.
 */
export function removeHooks(text: string, original?: string, table = CLAUDE_TABLE): WithoutOurs {
  const [bom, source] = splitBom(text)
  const removed: string[] = []
  if (isBlankJson(source)) return { text, removed }
  const existed = containersOf(original)
  let now = source
  for (const event of new Set(eventsOf(source))) {
    if (ours(source, event, table).length === 0) continue
    now = drop(now, event, table, (path) => existed.has(path))
    removed.push(event)
  }
  return { text: bom + now, removed }
}

/** One of our hooks in the tree. */
interface OurHook {
  readonly hook: JsonNode
  readonly group: JsonNode
  readonly command: JsonNode
  /** Whether its group has the matcher that it should, mostly none. */
  readonly everywhere: boolean
  /** Runs for every occurrence of its event, as a command, with a timeout. Only its path may be out of date. */
  readonly sound: boolean
}

/**
 * Leaves exactly one sound hook of ours under `event`, in the place of the first sound one, or else of one that can be
 * replaced: others' hooks keep theirs, by which Codex knows what the user has trusted.
 */
function settle(
  text: string,
  event: string,
  command: string,
  found: readonly OurHook[],
  { labels, table }: { readonly labels: boolean; readonly table: HookTable },
): string {
  const entry = table.entry(command, event)
  const { shell } = entry.hooks[0]
  const isRun = ({ hook }: OurHook): boolean => shell === undefined || member(hook, "shell")?.value === shell
  const sound = found.findIndex((candidate) => candidate.sound && isRun(candidate))
  const isAlone = ({ hook }: OurHook): boolean => !hasSiblings(hook)
  const spared = sound >= 0 ? sound : found.findIndex((one) => one.everywhere || isAlone(one))
  // A list emptied here is refilled at once, so it keeps its place.
  const now = drop(text, event, table, () => true, spared)
  if (spared < 0) return append(now, event, entry)
  if (sound < 0) {
    const one = ours(now, event, table)[0]!
    return isAlone(one) ? withValue(now, one.group, entry) : withValue(now, one.hook, entry.hooks[0])
  }
  const node = ours(now, event, table)[0]?.command as JsonNode
  const called = node.value === command ? now : withValue(now, node, command)
  const hook = ours(called, event, table)[0]?.hook as JsonNode
  const isLabelled = !labels || member(hook, "statusMessage") !== undefined
  return isLabelled ? called : inserted(called, hook, "statusMessage", HOOK_LABEL)
}

/** Removes our hooks under `event` except number `spared`. `keep` tells which containers stay even if empty. */
function drop(
  text: string,
  event: string,
  table: HookTable,
  keep: (path: string) => boolean,
  spared = -1,
): string {
  let now = text
  for (let index = ours(text, event, table).length - 1; index >= 0; index--) {
    const victim = index === spared ? undefined : ours(now, event, table)[index]
    if (victim !== undefined) now = without(now, emptiedBy(victim, event, keep))
  }
  return now
}

/** The outermost node that contains nothing but this hook. */
function emptiedBy({ hook, group }: OurHook, event: string, keep: (path: string) => boolean): JsonNode {
  if (hasSiblings(hook)) return hook
  if (hasSiblings(group) || keep(`hooks.${event}`)) return group
  const entry = group.parent?.parent as JsonNode
  if (hasSiblings(entry) || keep("hooks")) return entry
  return entry.parent?.parent as JsonNode
}

function append(text: string, event: string, entry: object): string {
  const root = parse(text)
  const hooks = member(root, "hooks")
  if (hooks === undefined) return inserted(text, root, "hooks", { [event]: [entry] })
  const list = member(hooks, event)
  if (list === undefined) return inserted(text, hooks, event, [entry])
  return inserted(text, list, undefined, entry)
}

function ours(text: string, event: string, table: HookTable): OurHook[] {
  const list = member(member(parse(text), "hooks"), event)
  return (list?.children ?? []).flatMap((group) => {
    const matcher = member(group, "matcher")?.value
    const wanted = table.matcher?.(event)
    const everywhere =
      wanted === undefined ? matcher === undefined || matcher === "" || matcher === "*" : matcher === wanted
    const hooks = member(group, "hooks")
    return (hooks?.type === "array" ? (hooks.children ?? []) : []).flatMap((hook) => {
      const command = member(hook, "command")
      if (typeof command?.value !== "string" || !table.isOurs(command.value)) return []
      const timeout = member(hook, "timeout")?.value
      const timed = typeof timeout === "number" && timeout > 0
      const sound = everywhere && timed && member(hook, "type")?.value === "command"
      return [{ hook, group, command, everywhere, sound }]
    })
  })
}

function eventsOf(text: string): string[] {
  return (member(parse(text), "hooks")?.children ?? []).map(keyOf)
}

/** Paths of the containers in `original` that `removeHooks` must keep. */
function containersOf(original: string | undefined): ReadonlySet<string> {
  const source = splitBom(original)[1]
  if (isBlankJson(source) || member(parse(source), "hooks") === undefined) return new Set()
  return new Set(["hooks", ...eventsOf(source).map((event) => `hooks.${event}`)])
}

/** Parses a text and checks that its hooks have the shape Claude Code expects. */
function parse(text: string): JsonNode {
  const root = parseObject(text)
  const hooks = member(root, "hooks")
  if (hooks === undefined) return root
  if (hooks.type !== "object") throw shapeError("hooks", "an object", hooks)
  for (const property of hooks.children ?? []) {
    const list = property.children?.[1]
    if (list?.type !== "array") throw shapeError(`hooks.${keyOf(property)}`, "an array", list)
  }
  return root
}

/* Variables in `env` of Claude Code's settings: read, set and taken out, every other byte left as it is. Pure. */

/** The variable with what is left of its value, as the original writes it if that is the same. */
export function withFormer(
  text: string,
  name: string,
  value: string | undefined,
  original: string | undefined,
): string {
  const node = variableNode(text, name)!
  const former = original === undefined ? undefined : variableNode(original, name)
  if (value === undefined) {
    const hadEnv = original !== undefined && envIn(original) !== undefined
    const own = node.parent!
    return without(text, hasSiblings(own) || hadEnv ? own : envIn(text)!.parent!)
  }
  if (former?.value !== value) return withValue(text, node, value)
  const source = splitBom(original)[1]
  return rewritten(text, node, source.slice(former.offset, former.offset + former.length))
}

export function withVariable(text: string, name: string, value: string): string {
  const root = treeOf(text)
  if (root === undefined || isBlankJson(text)) return written(text, { env: { [name]: value } })
  const env = envIn(text)
  if (env === undefined) return inserted(text, root, "env", { [name]: value })
  const node = member(env, name)
  return node === undefined ? inserted(text, env, name, value) : withValue(text, node, value)
}

/** A value as Claude Code's environment gets it. */
export function variable(text: string, name: string): string | undefined {
  const node = variableNode(text, name)
  return node === undefined ? undefined : String(node.value)
}

function variableNode(text: string, name: string): JsonNode | undefined {
  const node = member(envIn(text), name)
  if (node !== undefined && !["string", "number", "boolean"].includes(node.type))
    throw shapeError(`env.${name}`, "a string", node)
  return node
}

function envIn(text: string): JsonNode | undefined {
  const env = member(treeOf(text), "env")
  if (env !== undefined && env.type !== "object") throw shapeError("env", "an object", env)
  return env
}
