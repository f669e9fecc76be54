/**
 * What keeps an encrypted folder closed, and what a user has at a server. Its lines: AES-256-GCM of the runtime, with a key
 * that scrypt makes of a passphrase. Each line is bound to its folder, its file and its number there, so that none can be
 * changed, or put in another's place; a row likewise.
 * And this machine's memory: `sealed-folders.json` of the state folder says which encrypted folders it has seen. Whoever can
 * write to a folder can replace its description by one that says that nothing is encrypted, or by one of another key: what
 * was encrypted once is taken for nothing else, neither at its path nor under its id. A server's address is such a path.
 */
import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from "node:crypto"
import { CtxError } from "../../base/errors.ts"
import { statsOf, tryTo } from "../../base/files.ts"
import { realpathSync } from "../../base/fs.ts"
import { readJson, writeJson } from "../../base/json-files.ts"
import { basename, dirname, join } from "../../base/path.ts"
import { frameContent } from "../../vault/frame.ts"
import { contentSize } from "../../vault/frame-size.ts"
import { type LineSeal, LONGEST_KEPT_LINE } from "./folder-files.ts"

export interface Seal extends LineSeal {
  /** Without compression. */
  closeBytes(bytes: Uint8Array, place: string): Buffer
  openBytes(sealed: Uint8Array, place: string): Uint8Array | undefined
  /** Stands for a name of a kind, the same each time, and tells nothing of it to whoever has no key. */
  hide(name: string, kind: string): string
}

/** What the folder says of its key. It does not hold the key. */
export interface SealAbout {
  readonly kdf: "scrypt"
  /** scrypt's N, r and p. */
  readonly n: number
  readonly r: number
  readonly p: number
  /** In base64. */
  readonly salt: string
  /** A known line, closed. */
  readonly check: string
}

/** OWASP's parameters: 128 MB and half a second for each guess. */
const COST = { n: 1 << 17, r: 8, p: 1 }
/** Less than this is no protection, and more would take all memory: neither is ours. N must be a power of two. */
const LEAST_N = 1 << 10
const MOST_N = 1 << 20
const MOST_R = 32
const MOST_P = 16
/** N times r: 512 MB. */
const MOST_MEMORY = 1 << 22
/** N times r times p: eight times what ours takes. */
const MOST_WORK = 1 << 23
const KNOWN = "ctxbridge"
const CHECKED = "ctxbridge.json"
const IV = 12
const TAG = 16

export function isSealAbout(value: unknown): value is SealAbout {
  const { kdf, n, r, p, salt, check } = (value ?? {}) as Partial<Record<keyof SealAbout, unknown>>
  const isWithin = (one: unknown, least: number, most: number): one is number =>
    Number.isInteger(one) && (one as number) >= least && (one as number) <= most
  return (
    kdf === "scrypt" &&
    isWithin(n, LEAST_N, MOST_N) &&
    isWithin(r, 1, MOST_R) &&
    isWithin(p, 1, MOST_P) &&
    (n & (n - 1)) === 0 &&
    // RFC 7914, section 2.
    Math.log2(n) < 16 * r &&
    n * r <= MOST_MEMORY &&
    n * r * p <= MOST_WORK &&
    [salt, check].every((one) => typeof one === "string" && BASE64.test(one)) &&
    Buffer.from(salt as string, "base64").length >= LEAST_SALT
  )
}

/** Bytes. */
const LEAST_SALT = 8
const BASE64 = /^[A-Za-z0-9+/]{8,1000}={0,2}$/

/** Makes a new key. */
export function newSeal(passphrase: string): { readonly about: SealAbout; readonly seal: Seal } {
  const salt = randomBytes(16).toString("base64")
  const seal = sealOf(keyOf(passphrase, { ...COST, salt }))
  return { about: { kdf: "scrypt", ...COST, salt, check: seal.close(KNOWN, CHECKED) }, seal }
}

/**
 * @param about checked with `isSealAbout`
 * @returns undefined if the passphrase is another one
 */
export function openSeal(passphrase: string, about: SealAbout): Seal | undefined {
  const seal = sealOf(keyOf(passphrase, about))
  return seal.open(about.check, CHECKED) === KNOWN ? seal : undefined
}

/** Made once in a process, since it takes so long. */
const keys = new Map<string, Uint8Array>()

function keyOf(passphrase: string, { n, r, p, salt }: Pick<SealAbout, "n" | "r" | "p" | "salt">): Uint8Array {
  const name = JSON.stringify([passphrase, n, r, p, salt])
  const key =
    keys.get(name) ??
    scryptSync(passphrase.normalize("NFKC"), Buffer.from(salt, "base64"), 32, {
      ...{ N: n, r, p },
      maxmem: 256 * n * r,
    })
  keys.set(name, key)
  return key
}

function sealOf(key: Uint8Array): Seal {
  const closeBytes: Seal["closeBytes"] = (bytes, place) => {
    const iv = randomBytes(IV)
    const cipher = createCipheriv("aes-256-gcm", key, iv)
    cipher.setAAD(Buffer.from(place))
    return Buffer.concat([iv, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
  }
  const opened = (sealed: Uint8Array, place: string): Buffer => {
    const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, IV), { authTagLength: TAG })
    decipher.setAAD(Buffer.from(place))
    decipher.setAuthTag(sealed.subarray(-TAG))
    return Buffer.concat([decipher.update(sealed.subarray(IV, -TAG)), decipher.final()])
  }
  // One key for one purpose.
  const forNames = new Bun.CryptoHasher("sha256", Buffer.from(key)).update("names of ctxbridge").digest()
  return {
    closeBytes,
    openBytes: (sealed, place) => tryTo(() => opened(sealed, place)),
    // Frames are in base64, which this takes back.
    close: (line, place) => closeBytes(Bun.zstdCompressSync(Buffer.from(line)), place).toString("base64"),
    open: (sealed, place) =>
      tryTo(() => {
        const plain = opened(Buffer.from(sealed, "base64"), place)
        const size = contentSize(plain)
        if (size === undefined || size > LONGEST_KEPT_LINE) return undefined
        return Buffer.from(frameContent(plain, size)).toString("utf8")
      }),
    hide: (name, kind) =>
      new Bun.CryptoHasher("sha256", forNames)
        .update(`${kind}\0${name}`)
        .digest("base64url")
        .slice(0, HIDDEN),
  }
}

/** Digits of what stands for a name: 132 bits. */
const HIDDEN = 22

/** Names what is said of a key. */
export const keyName = (about: SealAbout): string =>
  new Bun.CryptoHasher("sha256")
    .update(JSON.stringify([about.kdf, about.n, about.r, about.p, about.salt]))
    .digest("hex")

/** @param isWrong whether there is a passphrase, which is another one */
export const lockedOut = (shown: string, isWrong: boolean): CtxError =>
  isWrong
    ? new CtxError("target-locked", `wrong passphrase for ${shown}`, { hint: "nothing was written" })
    : new CtxError("target-locked", `${shown} is encrypted`, {
        hint: "set CTXBRIDGE_SYNC_PASSPHRASE, or the option sync.passphrase-file to a file that holds it",
      })

export const WAY_OUT = "ctxbridge sync --new-key takes what your passphrase opens, or makes a new key"

interface SealedFolder {
  readonly id: string
  /** Hash of what the folder said of its key. */
  readonly key: string
  /** Where it was seen: as typed, and without links. */
  readonly paths: readonly string[]
  /** Whether the passphrase opened it. If not, anybody may have made it. */
  readonly proven: boolean
  /** When it was first seen, in ISO 8601. */
  readonly since: string
  /** Of a server: whether this machine has begun to encrypt what was there before, and has not come to its end. */
  readonly replacing?: boolean
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
    // Whatever the key: what was there before is in clear text until it is replaced.
    const replacing = all.some((one) => one.id === id && one.replacing === true) ? { replacing: true } : {}
    const noted = { id, key, paths, proven: proven || same?.proven === true, since, ...replacing }
    writeJson(this.file, { folders: [...others, noted] })
  }

  /** Notes of a known one that what was there before is to be encrypted, or that all of it is. */
  noteReplacing(id: string, replacing: boolean): void {
    const folders = this.#all().map((one) => (one.id === id ? { ...one, replacing } : one))
    writeJson(this.file, { folders })
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
