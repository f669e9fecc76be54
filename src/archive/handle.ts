/** Short names of turns, `ctx:ab12cd`: what a model or a person types to open one again. */
import type { Database } from "./database.ts"

/** Crockford's base 32: no letter that looks like a digit. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
const SHORTEST = 6

function base32(key: bigint): string {
  let rest = BigInt.asUintN(64, key)
  let text = ""
  for (let n = 0; n < 13; n++) {
    text += ALPHABET[Number(rest & 31n)]
    rest >>= 5n
  }
  return text
}

/** The shortest free prefix, from six letters on, of the turn's own hash: the same turn gets the same handle again. */
export function turnHandle(db: Database, key: bigint): string {
  const full = base32(key)
  for (let length = SHORTEST; ; length++) {
    // Turns without a message of their own may share a hash: then a number tells them apart.
    const handle = length <= full.length ? full.slice(0, length) : `${full}${length - full.length + 1}`
    const taken = db.query<{ id: number }, [string]>("SELECT id FROM turns WHERE handle = ?").get(handle)
    if (taken === null) return handle
  }
}
