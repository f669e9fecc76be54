/** Tells what a mistyped word may have meant. Pure. */

/**
 * How many letters must be put in, left out, replaced, or swapped with the next one, to make one of the other (Damerau
 * and Levenshtein, as optimal string alignment).
 */
export function distance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, n) => n)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swap = isSwapped ? before[j - 2]! + 1 : change
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, change, swap))
    }
    before = row
    row = next
  }
  return row[b.length]!
}

/** The nearest of these names, if it is no further than this. */
export const nearest = (word: string, names: readonly string[], furthest: number): string | undefined =>
  names
    .map((name) => ({ name, far: distance(word, name) }))
    .filter(({ far }) => far <= furthest)
    .sort((a, b) => a.far - b.far)[0]?.name

/** The names that are like a mistyped one, nearest first; those that contain it come last. */
export function nearNames(word: string, names: readonly string[], most = 3): string[] {
  const typed = word.toLowerCase()
  const furthest = Math.max(1, Math.floor(typed.length / 3))
  const near = names.flatMap((name) => {
    const known = name.toLowerCase()
    const far = distance(typed, known)
    if (far <= furthest) return [{ name, far }]
    return typed.length > 2 && known.includes(typed) ? [{ name, far: furthest + 1 }] : []
  })
  return near
    .sort((a, b) => a.far - b.far)
    .slice(0, most)
    .map(({ name }) => name)
}
