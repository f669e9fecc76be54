/** Variables in `env` of Claude Code's settings: read, set and taken out, every other byte left as it is. Pure. */
import { inserted, type JsonNode, rewritten, without, withValue, written } from "../../util/json-style.ts"
import { hasSiblings, isBlankJson, member, shapeError, splitBom, treeOf } from "../../util/json-text.ts"

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
