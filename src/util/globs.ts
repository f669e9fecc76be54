/** Folder patterns: `*` and `?` match within one name, `**` matches any number of folders. Pure. */

/** Whether the folder matches the pattern or lies below a match. Both are absolute paths. */
export function isWithin(pattern: string, folder: string): boolean {
  return matches(namesOf(pattern), 0, namesOf(folder), 0)
}

/** The folders in the pattern before the first wildcard. */
export function literalStart(pattern: string): string {
  const names = namesOf(pattern)
  const first = names.findIndex(isSign)
  return `/${names.slice(0, first < 0 ? names.length : first).join("/")}`
}

const namesOf = (path: string): string[] => path.split("/").filter((name) => name !== "")

const isSign = (name: string): boolean => name.includes("*") || name.includes("?")

function matches(pattern: readonly string[], p: number, names: readonly string[], n: number): boolean {
  if (p === pattern.length) return true
  if (pattern[p] === "**")
    return matches(pattern, p + 1, names, n) || (n < names.length && matches(pattern, p, names, n + 1))
  if (n === names.length || !isName(pattern[p]!, names[n]!)) return false
  return matches(pattern, p + 1, names, n + 1)
}

/** On a mismatch, backtracks to the last `*`, so the steps never exceed the product of both lengths. */
function isName(pattern: string, name: string): boolean {
  let [p, n, star, from] = [0, 0, -1, 0]
  while (n < name.length) {
    if (pattern[p] === "*") {
      star = p++
      from = n
    } else if (pattern[p] === "?" || pattern[p] === name[n]) {
      p++
      n++
    } else if (star >= 0) {
      p = star + 1
      n = ++from
    } else return false
  }
  while (pattern[p] === "*") p++
  return p === pattern.length
}
