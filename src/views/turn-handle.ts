/** Short names of turns, `ctx:ab12cd`, with which a model or a person opens one again. */
import type { Database } from "./database.ts"

/** Crockford's base 32, without letters that look like digits. */
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

/** The shortest unused prefix of the turn's hash, at least six letters, so the same turn gets the same handle again. */
export function turnHandle(db: Database, key: bigint): string {
  const full = base32(key)
  for (let length = SHORTEST; ; length++) {
    // Turns without a message of their own may share a hash; a number then tells them apart.
    const handle = length <= full.length ? full.slice(0, length) : `${full}${length - full.length + 1}`
    const taken = db.query<{ id: number }, [string]>("SELECT id FROM turns WHERE handle = ?").get(handle)
    if (taken === null) return handle
  }
}
