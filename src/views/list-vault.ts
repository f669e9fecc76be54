/** Brings the vault's list of copies up to date with the vault (vault/copy-list.ts). */
import { tryTo } from "../base/files.ts"
import { checkCopy } from "../vault/check-copy.ts"
import { doubtCopies, isUntouched, noteCopies, readList, type ToList } from "../vault/copy-list.ts"
import { vaultFile } from "../vault/layout.ts"
import { findLosses } from "../vault/lost-copies.ts"
import { tailOf } from "../vault/reader.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import { sessionOfCopy } from "./view-sources.ts"

/**
 * Notes the copies that are not in the list as they are: new ones, and ones that were written since. One that was changed
 * without having grown is noted only if it is sound, since from then on nobody looks at it again.
 *
 * @param only the copies to look at; by default all. Then those that others have replaced are taken out, too
 */
export function listVault(dataHome: string, only?: Iterable<string>): void {
  const { copies } = readList(dataHome)
  const listed = new Map([...copies.values()].map((one) => [one.copy, one]))
  const due: ToList[] = []
  for (const copy of only ?? vaultFiles(dataHome).map((file) => file.copy)) {
    const known = listed.get(copy)
    if (known !== undefined && isUntouched(dataHome, known)) continue
    const tail = tryTo(() => tailOf(vaultFile(dataHome, copy)))
    if (tail?.last === undefined) continue
    const isSame = known?.id === tail.header.id && tail.last.to <= known.to
    if (isSame && !isSound(dataHome, copy)) continue
    due.push({ copy, session: sessionOfCopy(dataHome, copy, tail.header.path) })
  }
  const gone = only === undefined ? findLosses({ dataHome }).replaced.map(({ id }) => id) : []
  noteCopies(dataHome, due, gone)
}

const isSound = (dataHome: string, copy: string): boolean =>
  tryTo(() => checkCopy(vaultFile(dataHome, copy), undefined)?.damage.length) === 0

/** Remembers which copies are damaged, by their paths below `vault/`: whoever can mend them looks at them. */
export function doubtVault(dataHome: string, damaged: Iterable<string>): void {
  const wanted = new Set(damaged)
  if (wanted.size === 0) return
  const listed = new Set([...readList(dataHome).copies.values()].map(({ copy }) => copy))
  // In a vault that has no list yet.
  const unknown = [...wanted].filter((copy) => !listed.has(copy))
  noteCopies(
    dataHome,
    unknown.flatMap((copy) => {
      const path = tryTo(() => tailOf(vaultFile(dataHome, copy)))?.header.path
      return path === undefined ? [] : [{ copy, session: sessionOfCopy(dataHome, copy, path) }]
    }),
  )
  doubtCopies(dataHome, wanted)
}
