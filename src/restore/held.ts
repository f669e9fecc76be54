/** Whether a text tells something, however it quotes it: for receipts and for `bench survive`. Pure. */
import type { FactKind } from "../transcript/facts.ts"
import { oneLine } from "../util/text.ts"

/** Sentences and figures that receipts count beside the facts. */
export type HeldKind = FactKind | "constraint" | "decision" | "number"

/** A restore cuts long sentences; by so many characters one is known. */
const SENTENCE_KNOWN = 120

/** Asks whether a text holds a fact. White space, case and the quotation marks of a restore do not matter. */
export function holderOf(text: string): (kind: HeldKind, fact: string) => boolean {
  const known = essence(text)
  return (kind, fact) => {
    switch (kind) {
      case "path":
        // A path is known by its folder and name: sessions tell it from many places.
        return known.includes(essence(fact.split("/").slice(-2).join("/"))) || inSharedFolder(known, fact)
      case "constraint":
      case "decision":
        return known.includes(essence(fact).slice(0, SENTENCE_KNOWN))
      case "number":
        return holdsNumber(known, fact)
      default:
        return known.includes(essence(fact))
    }
  }
}

const essence = (text: string): string =>
  oneLine(text.replace(/\\"/g, '"').replace(/[`‹<]/g, "'")).toLowerCase()

/** `in dir/: a.ts b.ts` tells dir/b.ts. */
function inSharedFolder(known: string, path: string): boolean {
  const end = path.lastIndexOf("/") + 1
  const folder = essence(path.slice(0, end))
  const name = essence(path.slice(end))
  if (folder === "" || !known.includes(folder)) return false
  return known
    .split(`in '${folder}': '`)
    .some((part, n) => n > 0 && part.split("'")[0]!.split(" ").includes(name))
}

/** Not as a part of another number. */
function holdsNumber(known: string, number: string): boolean {
  const wanted = essence(number)
  for (let at = known.indexOf(wanted); at >= 0; at = known.indexOf(wanted, at + 1)) {
    const before = known.slice(Math.max(0, at - 2), at)
    const after = known.slice(at + wanted.length, at + wanted.length + 2)
    if (!/\d$|\d[.,]$/.test(before) && !/^\d|^[.,]\d/.test(after)) return true
  }
  return false
}
