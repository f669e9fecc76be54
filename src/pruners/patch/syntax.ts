/** The syntax of one function within a program of others, which as a whole would take seconds to parse. Pure. */
import { parseExpressionAt } from "acorn"

/** As in ESTree. */
export interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

/** The function that begins at an offset; undefined if none does, or it cannot be parsed. */
export function functionAt(text: string, offset: number): SyntaxNode | undefined {
  try {
    const node = parseExpressionAt(text, offset, { ecmaVersion: "latest", sourceType: "module" })
    return node.type === "FunctionExpression" ? (node as unknown as SyntaxNode) : undefined
  } catch {
    return undefined
  }
}

export const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string"

/** A node's name, if it is an identifier. */
export const nameOf = (value: unknown): string | undefined =>
  isNode(value) && value.type === "Identifier" ? (value["name"] as string) : undefined

/** A node, and those around it, outermost first. */
export interface Placed {
  readonly node: SyntaxNode
  readonly around: readonly SyntaxNode[]
}

/** All nodes within one, itself included, in the order of the text. */
export function* nodesIn(node: SyntaxNode, around: readonly SyntaxNode[] = []): Generator<Placed> {
  yield { node, around }
  const within = [...around, node]
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) yield* nodesIn(child, within)
    }
  }
}
