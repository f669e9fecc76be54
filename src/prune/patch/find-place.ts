/**
 * Where in a bundle of Claude Code the conversation can be pruned: in the loop that sends it, after what Claude Code
 * shortens by itself and before it looks whether to compact; and where a compaction sends it, which must say the same.
 * Names differ from build to build, so the places are found by what stands there, and everything that is relied on is
 * looked at in the syntax of these two functions. Pure.
 */
import { parseExpressionAt } from "acorn"

export interface PatchPlace {
  /** Offset of the function that sends the conversation: what is called is inserted before it. */
  readonly before: number
  /** Offset of the statement that may compact: the call is inserted before it. */
  readonly call: number
  /** The variable that has the conversation. */
  readonly messages: string
  /** The one that tells subagents from the session itself. */
  readonly context: string
  /** What a compaction sends, before it asks for a summary: an expression. */
  readonly summarised: { readonly start: number; readonly end: number }
  /** Offset of the function that does. */
  readonly summary: number
  /** The function that names the session, as it is called and as it is written. */
  readonly session: { readonly name: string; readonly source: string }
}

type FoundPlace = PatchPlace | { readonly why: string }

/** What the loop says first, in every build so far, and only there. */
const LOOP = /yield\s*\{type:"stream_request_start"\}/g
const COMPACTED = "tengu_auto_compact_succeeded"
/** What a compaction tells the model that it is. */
const SUMMARISER = /tasked with summarizing conversations/g
const GENERATOR = "async function*"
const ASYNC = "async function "
/** Where a declaration may begin. */
const ENDS = /[;{}](?:\s|\/\*[^*]*\*\/)*$/
const SESSION = /function ([\w$]+)\(\)\{return [\w$]+\.sessionId\}/g

/** UTF-16 units from the beginning of a function to what it is known by; nine times what was seen. */
const FURTHEST = 16_384

export function findPlace(text: string): FoundPlace {
  const loops = [...text.matchAll(LOOP)]
  if (loops.length !== 1) return { why: `the loop that sends requests was found ${times(loops.length)}` }
  const said = loops[0]!.index
  const loop = functionAround(text, GENERATOR, said)
  if (loop === undefined) return { why: "the function around the loop that sends requests cannot be parsed" }
  if (!standsByItself(text, loop)) return { why: "the function around the loop does not stand by itself" }
  if (!text.slice(loop.start, loop.end).includes(COMPACTED))
    return { why: "the loop that sends requests does not compact" }

  const sessions = [...text.matchAll(SESSION)]
  if (sessions.length !== 1)
    return { why: `the function that names the session was found ${times(sessions.length)}` }
  const session = { name: sessions[0]![1]!, source: sessions[0]![0] }

  const summary = findSummary(text)
  if (summary === undefined) return { why: "what a compaction sends was not found" }

  const nodes = [...nodesIn(loop)]
  const calls = nodes.filter(isCompaction)
  if (calls.length !== 1) return { why: `the automatic compaction was found ${times(calls.length)}` }
  const { node: call, around } = calls[0]!
  if (around.slice(1).some(({ type }) => type.includes("Function")))
    return { why: "the automatic compaction is in a function of its own" }
  const at = around.findLastIndex(({ type }) => type.endsWith("Declaration") || type.endsWith("Statement"))
  const statement = around[at]
  if (statement === undefined || around[at - 1]?.type !== "BlockStatement" || statement.start < said)
    return { why: "the automatic compaction does not stand by itself" }

  const [messages, context] = (call["arguments"] as readonly unknown[]).map(nameOf)
  if (messages === undefined || context === undefined)
    return { why: "what is compacted is not in a variable" }
  if (!nodes.some(({ node }) => isMember(node, context, "abortController")))
    return { why: "subagents cannot be told from the session" }
  const between = { from: said, to: statement.start }
  if (!isVariable(nodes, messages, statement.start)) return { why: "what is compacted cannot be replaced" }
  if (!isShortened(nodes, messages, between))
    return { why: "Claude Code's own shortening was not found before the automatic compaction" }
  if (!text.slice(call.end, loop.end).match(new RegExp(`[,:(]${escaped(messages)}[,})]`)))
    return { why: "what is compacted is not what is sent" }
  return { before: loop.start, call: statement.start, messages, context, ...summary, session }
}

const times = (n: number): string => (n === 0 ? "nowhere" : `${n} times`)

const escaped = (name: string): string => name.replaceAll("$", "\\$")

/** The nearest function that begins so before an offset and ends behind it. */
function functionAround(text: string, beginning: string, offset: number): SyntaxNode | undefined {
  for (let at = offset; offset - at < FURTHEST; ) {
    at = text.lastIndexOf(beginning, at - 1)
    if (at < 0) return undefined
    const found = functionAt(text, at)
    if (found !== undefined && found.end > offset) return found
  }
  return undefined
}

const standsByItself = (text: string, { start }: SyntaxNode): boolean =>
  ENDS.test(text.slice(Math.max(0, start - 80), start))

/** `[...messages, request]` where the model is told to summarise; undefined unless there is exactly one. */
function findSummary(text: string): Pick<PatchPlace, "summarised" | "summary"> | undefined {
  const found = [...text.matchAll(SUMMARISER)].flatMap(({ index }) => {
    const around = functionAround(text, ASYNC, index)
    return around === undefined ? [] : summarisedIn(around).map((summarised) => ({ around, summarised }))
  })
  const [only] = found
  if (only === undefined || found.length > 1 || !standsByItself(text, only.around)) return undefined
  const { start, end } = only.summarised
  return { summarised: { start, end }, summary: only.around.start }
}

const summarisedIn = (around: SyntaxNode): SyntaxNode[] =>
  [...nodesIn(around)].flatMap(({ node }) => {
    if (node.type !== "ArrayExpression") return []
    const [first, request, ...others] = node["elements"] as readonly unknown[]
    const isRequest = others.length === 0 && nameOf(request) !== undefined
    return isRequest && isNode(first) && first.type === "SpreadElement"
      ? [first["argument"] as SyntaxNode]
      : []
  })

/** `let {compactionResult: …} = await compact(…)`, or `….autocompact(…)` at the place of `compact`. */
function isCompaction({ node, around }: Placed): boolean {
  if (node.type !== "CallExpression") return false
  const [declared, awaited] = around.slice(-2)
  return (
    awaited?.type === "AwaitExpression" &&
    declared?.type === "VariableDeclarator" &&
    isNode(declared["id"]) &&
    declared["id"].type === "ObjectPattern" &&
    (declared["id"]["properties"] as readonly SyntaxNode[]).some(
      ({ key }) => nameOf(key) === "compactionResult",
    )
  )
}

/** Declared before, in a way that allows another value. */
const isVariable = (nodes: readonly Placed[], name: string, before: number): boolean =>
  nodes.some(({ node, around }) => {
    const declaration = around.at(-1)
    return (
      node.type === "VariableDeclarator" &&
      node.start < before &&
      nameOf(node["id"]) === name &&
      (declaration?.["kind"] === "let" || declaration?.["kind"] === "var")
    )
  })

const isMember = (node: SyntaxNode, object: string, property: string): boolean =>
  node.type === "MemberExpression" &&
  nameOf(node["object"]) === object &&
  nameOf(node["property"]) === property

/** Set to the `messages` of something between two offsets. */
const isShortened = (
  nodes: readonly Placed[],
  name: string,
  { from, to }: { readonly from: number; readonly to: number },
): boolean =>
  nodes.some(({ node }) => {
    const value = node["right"]
    return (
      node.type === "AssignmentExpression" &&
      node.start > from &&
      node.end <= to &&
      nameOf(node["left"]) === name &&
      isNode(value) &&
      value.type === "MemberExpression" &&
      nameOf(value["property"]) === "messages"
    )
  })

/* The syntax of one function within a program of others, which as a whole would take seconds to parse. Pure. */

/** As in ESTree. */
interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

/** The function that begins at an offset; undefined if none does, or it cannot be parsed. */
function functionAt(text: string, offset: number): SyntaxNode | undefined {
  try {
    const node = parseExpressionAt(text, offset, { ecmaVersion: "latest", sourceType: "module" })
    return node.type === "FunctionExpression" ? (node as unknown as SyntaxNode) : undefined
  } catch {
    return undefined
  }
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string"

/** A node's name, if it is an identifier. */
const nameOf = (value: unknown): string | undefined =>
  isNode(value) && value.type === "Identifier" ? (value["name"] as string) : undefined

/** A node, and those around it, outermost first. */
interface Placed {
  readonly node: SyntaxNode
  readonly around: readonly SyntaxNode[]
}

/** All nodes within one, itself included, in the order of the text. */
function* nodesIn(node: SyntaxNode, around: readonly SyntaxNode[] = []): Generator<Placed> {
  yield { node, around }
  const within = [...around, node]
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) yield* nodesIn(child, within)
    }
  }
}
