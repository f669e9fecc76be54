/** How many different characters a text has. Pure. */

/** Whether the value has fewer than this many different characters. */
export function hasFewer(different: number, value: string): boolean {
  let seen = ""
  for (let n = 0; n < value.length && seen.length < different; n++)
    if (!seen.includes(value[n]!)) seen += value[n]
  return seen.length < different
}
