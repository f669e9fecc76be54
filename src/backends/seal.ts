/**
 * Encrypts the lines of a folder with a passphrase: AES-256-GCM of the runtime, with a key that scrypt makes. Each line is
 * bound to its folder, its file and its number there, so that none can be changed, or put in another's place.
 */
import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from "node:crypto"
import { tryTo } from "../util/files.ts"
import { frameContent } from "../vault/frame.ts"
import { contentSize } from "../vault/frame-size.ts"
import { type LineSeal, LONGEST_KEPT_LINE } from "./line-files.ts"

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
export function newSeal(passphrase: string): { readonly about: SealAbout; readonly seal: LineSeal } {
  const salt = randomBytes(16).toString("base64")
  const seal = sealOf(keyOf(passphrase, { ...COST, salt }))
  return { about: { kdf: "scrypt", ...COST, salt, check: seal.close(KNOWN, CHECKED) }, seal }
}

/**
 * @param about checked with `isSealAbout`
 * @returns undefined if the passphrase is another one
 */
export function openSeal(passphrase: string, about: SealAbout): LineSeal | undefined {
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

const sealOf = (key: Uint8Array): LineSeal => ({
  close(line, place) {
    const iv = randomBytes(IV)
    const cipher = createCipheriv("aes-256-gcm", key, iv)
    cipher.setAAD(Buffer.from(place))
    // Frames are in base64, which this takes back.
    const plain = Bun.zstdCompressSync(Buffer.from(line))
    return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString("base64")
  },
  open: (sealed, place) =>
    tryTo(() => {
      const bytes = Buffer.from(sealed, "base64")
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, IV), { authTagLength: TAG })
      decipher.setAAD(Buffer.from(place))
      decipher.setAuthTag(bytes.subarray(-TAG))
      const plain = Buffer.concat([decipher.update(bytes.subarray(IV, -TAG)), decipher.final()])
      const size = contentSize(plain)
      if (size === undefined || size > LONGEST_KEPT_LINE) return undefined
      return Buffer.from(frameContent(plain, size)).toString("utf8")
    }),
})
