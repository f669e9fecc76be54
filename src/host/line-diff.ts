/** The line diff shown by `--dry-run`. */

const CONTEXT = 1

/** The lines that differ between two texts, marked `-` and `+`, with a line of context (` `) around each run. */
export function lineDiff(before: string, after: string): string[] {
  const old = linesOf(before)
  const now = linesOf(after)
  const marked = mark(old, now)
  const shown = marked.map(() => false)
  marked.forEach((line, at) => {
    if (!line.startsWith(" ")) shown.fill(true, Math.max(0, at - CONTEXT), at + CONTEXT + 1)
  })
  return marked.flatMap((line, at) => {
    if (shown[at] !== true) return []
    return at > 0 && shown[at - 1] !== true ? ["...", line] : [line]
  })
}

/** Marks every line of both texts. The common beginning and end are set aside because `markMiddle` is quadratic. */
function mark(old: readonly string[], now: readonly string[]): string[] {
  const most = Math.min(old.length, now.length)
  let head = 0
  while (head < most && old[head] === now[head]) head++
  let tail = 0
  while (tail < most - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++
  const same = (line: string): string => ` ${line}`
  return [
    ...old.slice(0, head).map(same),
    ...markMiddle(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...old.slice(old.length - tail).map(same),
  ]
}

/** Uses the longest common subsequence. */
function markMiddle(old: readonly string[], now: readonly string[]): string[] {
  const width = now.length + 1
  // longest[i * width + j] is its length for old[i…] and now[j…].
  const longest = new Uint32Array((old.length + 1) * width)
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      longest[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const marked: string[] = []
  let i = 0
  let j = 0
  while (i < old.length || j < now.length) {
    if (i < old.length && old[i] === now[j]) {
      marked.push(` ${old[i++]}`)
      j++
    } else if (j >= now.length || (i < old.length && at(i + 1, j) >= at(i, j + 1))) {
      marked.push(`-${old[i++]}`)
    } else {
      marked.push(`+${now[j++]}`)
    }
  }
  return marked
}

function linesOf(text: string): string[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/)
  if (lines.at(-1) === "") lines.pop()
  return lines
}
