/** Errors a person can act on. Branch on `code`, never on the message. What they say holds no address's password. */

/** Loaded late, since hooks hardly ever need it. */
export const addresses = (): typeof import("./text.ts") => require("./text.ts")

const withoutPasswords = (text: string): string =>
  text.includes("@") || text.includes("?") ? addresses().withoutPasswords(text) : text

export class CtxError extends Error {
  // A literal, because the minifier renames classes.
  override readonly name = "CtxError"
  readonly code: string
  readonly hint: string | undefined
  /** Exit code of the process when the error reaches the command line. */
  readonly exit: number

  constructor(
    code: string,
    message: string,
    options: { hint?: string; exit?: number; cause?: unknown } = {},
  ) {
    super(withoutPasswords(message), options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.hint = options.hint === undefined ? undefined : withoutPasswords(options.hint)
    this.exit = options.exit ?? EXIT.failed
  }
}

/** Checked by name, since modules that a search loads later have their own copy of the class (build/bundles.ts). */
export const isCtxError = (error: unknown): error is CtxError =>
  error instanceof Error && error.name === "CtxError"

/** Exit codes of commands. 2 is never used: Claude Code reads it as "block". */
export const EXIT = { ok: 0, failed: 1, notFound: 3, usage: 64, interrupted: 130 } as const

export function usageError(message: string, hint?: string): CtxError {
  return new CtxError("usage", message, { exit: EXIT.usage, ...(hint === undefined ? {} : { hint }) })
}

/** The system's or SQLite's code of an error; `""` when it has none. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === "string" ? code : ""
}

export const isMissing = (error: unknown): boolean => ["ENOENT", "ENOTDIR"].includes(codeOf(error))

export function messageOf(error: unknown): string {
  return withoutPasswords(error instanceof Error ? error.message : String(error))
}

/** Whether SQLite reports that the file itself is broken. Its codes may be extended, as in SQLITE_CORRUPT_INDEX. */
export const isDamage = (error: unknown): boolean => /^SQLITE_(NOTADB|CORRUPT)/.test(codeOf(error))

/** For whoever has waited for another process long enough. */
export function throwBusy(message: string, hint = "try again when it is done"): never {
  throw new CtxError("busy", message, { hint })
}

/** Code of the error that says the views are damaged or missing, and are being rebuilt. */
export const VIEWS_LOST = "views-lost"
