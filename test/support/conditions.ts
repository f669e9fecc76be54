/** What a program decides by, whatever its names and its layout: texts, expressions, numbers and operators. */
import { type AnyNode, parse } from "acorn"

const transpiler = new Bun.Transpiler({ loader: "ts", target: "bun" })

/**
 * The literals and operators of a TypeScript source, sorted, as often as they occur. Comments, types, names, the order of
 * statements and what is imported leave no trace in it, nor do 0, 1 and the texts of errors.
 */
export function conditionsOf(source: string): string[] {
  const program = parse(transpiler.transformSync(source), { ecmaVersion: "latest", sourceType: "module" })
  const found: string[] = []
  const visit = (node: AnyNode): void => {
    switch (node.type) {
      case "Literal":
        if (node.regex !== undefined && node.regex !== null)
          found.push(`/${node.regex.pattern}/${node.regex.flags}`)
        else if (node.value !== 0 && node.value !== 1) found.push(JSON.stringify(node.value))
        return
      case "TemplateElement":
        if (node.value.raw !== "") found.push(JSON.stringify(node.value.cooked ?? node.value.raw))
        return
      case "ImportDeclaration":
        return
      case "UnaryExpression":
      case "BinaryExpression":
      case "LogicalExpression":
        found.push(node.operator)
        break
      // The transpiler drops the `new` of some.
      case "NewExpression":
      case "CallExpression":
        if (node.callee.type === "Identifier" && node.callee.name.endsWith("Error")) return
    }
    for (const value of Object.values(node)) {
      for (const one of Array.isArray(value) ? value : [value]) if (isNode(one)) visit(one)
    }
  }
  visit(program)
  return found.sort()
}

const isNode = (value: unknown): value is AnyNode =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"
