/** Shortens values to one line. */

/** `text` as one line of at most `length` code points. */
export function shortLine(text: string, length: number): string {
  // Folds white space only in a limited part, since a command may carry a whole file.
  const folded = cut(text, length * 4)
    .replace(/\s+/g, " ")
    .trim()
  return cut(folded, length).trimEnd()
}

/** The first `length` code points. */
function cut(text: string, length: number): string {
  if (text.length <= length) return text
  let end = 0
  for (let points = 0; points < length && end < text.length; points++)
    end += text.codePointAt(end)! > 0xffff ? 2 : 1
  return text.slice(0, end)
}

/** The beginning of the JSON of `value`, at least `length` characters of it: the whole may be megabytes long. */
export function jsonHead(value: unknown, length: number): string {
  let out = ""
  const write = (node: unknown, depth: number): void => {
    if (out.length > length) return
    if (typeof node === "string") out += JSON.stringify(cut(node, length))
    else if (typeof node !== "object" || node === null) out += JSON.stringify(node) ?? ""
    else if (depth > 6) out += "…"
    else if (Array.isArray(node)) {
      out += "["
      for (let i = 0; i < node.length && out.length <= length; i++) {
        if (i > 0) out += ","
        write(node[i], depth + 1)
      }
      out += "]"
    } else {
      out += "{"
      let first = true
      for (const key in node) {
        if (out.length > length) break
        out += `${first ? "" : ","}${JSON.stringify(cut(key, length))}:`
        first = false
        write((node as Readonly<Record<string, unknown>>)[key], depth + 1)
      }
      out += "}"
    }
  }
  write(value, 0)
  return out
}
