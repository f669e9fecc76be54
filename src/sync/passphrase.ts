/** The passphrase of an encrypted folder: from the environment, or from a file that nobody else can read. */
import { statSync } from "node:fs"
import { passphraseVariable } from "../config/load.ts"
import { CtxError, messageOf, usageError } from "../util/errors.ts"
import { letsOthersIn, readOrdinary } from "../util/files.ts"
import { join } from "../util/path.ts"

/** UTF-16 units. */
const LEAST = 8
/** Bytes of its file. */
const LARGEST = 4096

/**
 * @param file the option `sync.passphrase-file`; empty: none
 * @returns undefined if the user has named none
 * @throws CtxError if it cannot be read, is too short, or others may read its file
 */
export function readPassphrase(file: string, home: string): string | undefined {
  const given = passphraseVariable() ?? (file === "" ? undefined : fromFile(file, home))
  if (given !== undefined && given.length < LEAST)
    throw usageError("the passphrase is too short", `at least ${LEAST} characters, better six words`)
  return given
}

function fromFile(named: string, home: string): string {
  const file = named.startsWith("~/") ? join(home, named.slice(2)) : named
  const hint = "the option sync.passphrase-file names it"
  let text: string | undefined
  let mode: number
  try {
    mode = statSync(file).mode
    text = readOrdinary(file, LARGEST)
  } catch (cause) {
    throw new CtxError("passphrase-unreadable", `cannot read ${file}: ${messageOf(cause)}`, { hint, cause })
  }
  if (text === undefined)
    throw new CtxError("passphrase-unreadable", `${file} is not a file of at most ${LARGEST} bytes`, { hint })
  if (letsOthersIn(mode))
    throw new CtxError("passphrase-unreadable", `${file} can be read by others`, {
      hint: "chmod 600 makes it yours alone",
    })
  return text.replace(/\r?\n$/, "")
}
