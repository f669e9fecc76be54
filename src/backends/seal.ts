/**
 * Encrypts the lines of a folder with a passphrase: AES-256-GCM of the runtime, with a key that scrypt makes. Each line is
 * bound to its folder, its file and its number there, so that none can be changed, or put in another's place.
 */
import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from "node:crypto"
import { tryTo } from "../util/files.ts"
import type { LineSeal } from "./line-files.ts"

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
/** More than this is not ours: it would take all memory. */
const MOST_COST = 1 << 20
const KNOWN = "ctxbridge"
const CHECKED = "ctxbridge.json"
const IV = 12
const TAG = 16

export function isSealAbout(value: unknown): value is SealAbout {
  const { kdf, n, r, p, salt, check } = (value ?? {}) as Partial<Record<keyof SealAbout, unknown>>
  const isSmall = (one: unknown, most: number): boolean =>
    Number.isInteger(one) && (one as number) > 0 && (one as number) <= most
  return (
    kdf === "scrypt" &&
    [n, r, p].every((one) => isSmall(one, MOST_COST)) &&
    (n as number) * (r as number) * (p as number) <= MOST_COST * 8 &&
    typeof salt === "string" &&
    typeof check === "string"
  )
}

/** Makes a new key. */
export function newSeal(passphrase: string): { readonly about: SealAbout; readonly seal: LineSeal } {
  const salt = randomBytes(16).toString("base64")
  const seal = sealOf(keyOf(passphrase, { ...COST, salt }))
  return { about: { kdf: "scrypt", ...COST, salt, check: seal.close(KNOWN, CHECKED) }, seal }
}

/** @returns undefined if the passphrase is another one */
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
      return Buffer.from(Bun.zstdDecompressSync(plain)).toString("utf8")
    }),
})
