/**
 * Which encrypted folders this machine has seen, in `sealed-folders.json` of the state folder. Whoever can write to a
 * folder can replace its description by one that says that nothing is encrypted, or by one of another key: what was
 * encrypted once is taken for nothing else, neither at its path nor under its id.
 */
import { statsOf, tryTo } from "../util/files.ts"
import { realpathSync } from "../util/fs.ts"
import { readJson, writeJson } from "../util/json-files.ts"
import { basename, dirname, join } from "../util/path.ts"

export interface SealedFolder {
  readonly id: string
  /** Hash of what the folder said of its key. */
  readonly key: string
  /** Where it was seen: as typed, and without links. */
  readonly paths: readonly string[]
  /** Whether the passphrase opened it. If not, anybody may have made it. */
  readonly proven: boolean
  /** When it was first seen, in ISO 8601. */
  readonly since: string
}

export const sealedFoldersFile = (stateHome: string): string => join(stateHome, "sealed-folders.json")

export class SealedFolders {
  readonly file: string

  constructor(stateHome: string) {
    this.file = sealedFoldersFile(stateHome)
  }

  /** Those that were seen at a path or under an id. */
  about(root: string, id?: string): SealedFolder[] {
    return this.#all().filter((one) => one.id === id || isAt(one, placesOf(root)))
  }

  /**
   * Notes a folder, unless it is known.
   *
   * @param proven whether the passphrase opens it. If not, a folder of which that is known stays
   */
  note(root: string, id: string, key: string, proven: boolean): void {
    const places = placesOf(root)
    const all = this.#all()
    const same = all.find((one) => one.id === id && one.key === key)
    const isKnown = same !== undefined && places.every((place) => same.paths.includes(place))
    if (isKnown && (same.proven || !proven)) return
    const others = all.filter((one) => one !== same && one.id !== id && !isAt(one, places))
    if (!proven && others.length < all.length - (same === undefined ? 0 : 1)) return
    const since = same?.since ?? new Date().toISOString()
    const paths = [...new Set([...(same?.paths ?? []), ...places])]
    const noted = { id, key, paths, proven: proven || same?.proven === true, since }
    writeJson(this.file, { folders: [...others, noted] })
  }

  #all(): SealedFolder[] {
    const { folders } = (readJson(this.file) ?? {}) as { folders?: unknown }
    return Array.isArray(folders) ? folders.filter(isSealedFolder) : []
  }
}

function isSealedFolder(value: unknown): value is SealedFolder {
  const { id, key, paths, proven } = (value ?? {}) as Partial<Record<keyof SealedFolder, unknown>>
  return (
    [id, key].every((one) => typeof one === "string") &&
    Array.isArray(paths) &&
    paths.every((one) => typeof one === "string") &&
    typeof proven === "boolean"
  )
}

/** A folder as typed, and where it really is: a link may lead elsewhere tomorrow. */
const placesOf = (root: string): string[] => [...new Set([root, realPlace(root)])]

/** A folder that is gone is where its parent would have it. */
const realPlace = (root: string): string =>
  tryTo(() => realpathSync(root)) ?? tryTo(() => join(realpathSync(dirname(root)), basename(root))) ?? root

const isAt = ({ paths }: SealedFolder, places: readonly string[]): boolean =>
  paths.some((path) => places.some((place) => path === place || isSameInOtherCase(path, place)))

const folded = (path: string): string => path.normalize("NFC").toLowerCase()

/** Systems that tell upper and lower case apart still mount sticks and shares that do not. */
function isSameInOtherCase(path: string, place: string): boolean {
  if (folded(path) !== folded(place)) return false
  if (process.platform !== "linux") return true
  const [one, other] = [statsOf(path), statsOf(place)]
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev
}
