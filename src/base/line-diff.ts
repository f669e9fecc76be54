/** The line diff shown by `--dry-run`. */

const CONTEXT = 1
const NOT_REACHED = Number.POSITIVE_INFINITY

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

/** Marks every line of both texts. The common beginning and end are set aside, so that changes stand together. */
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

/** Marks as few changes as possible. */
function markMiddle(old: readonly string[], now: readonly string[]): string[] {
  const reached = reachedFromEnd(old, now)
  const marked: string[] = []
  let edits = reached.length - 1
  for (let i = 0, j = 0; i < old.length || j < now.length; ) {
    if (i < old.length && old[i] === now[j]) {
      marked.push(` ${old[i++]}`)
      j++
      continue
    }
    // Of two equally short ways, the one that removes first.
    const isShorter = (reached[--edits]?.get(i + 1 - j) ?? NOT_REACHED) <= i + 1
    if (i < old.length && isShorter) marked.push(`-${old[i++]}`)
    else marked.push(`+${now[j++]}`)
  }
  return marked
}

/**
 * For each number of edits, and each difference between the places in the two texts, the first place in the old one
 * from which that many suffice up to the end. This is the algorithm of Myers ("An O(ND) Difference Algorithm and Its
 * Variations", 1986): settings may have many lines, but we change few.
 */
function reachedFromEnd(old: readonly string[], now: readonly string[]): Map<number, number>[] {
  const end = old.length - now.length
  const reached: Map<number, number>[] = []
  for (let edits = 0; ; edits++) {
    const before = reached.at(-1) ?? new Map([[end + 1, old.length + 1]])
    const places = new Map<number, number>()
    reached.push(places)
    for (let offset = end - edits; offset <= end + edits; offset += 2) {
      const removing = (before.get(offset + 1) ?? NOT_REACHED) - 1
      const adding = before.get(offset - 1) ?? NOT_REACHED
      let i = removing < 0 ? adding : Math.min(removing, adding)
      if (i < offset || i === NOT_REACHED) continue
      while (i > 0 && i > offset && old[i - 1] === now[i - 1 - offset]) i--
      places.set(offset, i)
      if (i === 0 && offset === 0) return reached
    }
  }
}

function linesOf(text: string): string[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/)
  if (lines.at(-1) === "") lines.pop()
  return lines
}
