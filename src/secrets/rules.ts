/**
 * What the filter loads only when something may be a secret: most hooks find nothing. The filter cannot wait for an
 * import(), and loading and making the rules takes a program about 1 ms.
 */

/**
 * Raised whenever the filter finds something new: the vault's trailers record which rules filtered a frame. Each number
 * has a line in test/golden/rules.tsv; a test fails when the rules are no longer those of the last line.
 */
export const RULES_NUMBER = 7

/** What is done with what was found. */
export const filling = (): typeof import("./fill.ts") => require("./fill.ts")

/** The formats of tokens. */
export const formats = (): typeof import("./formats/table.ts") => require("./formats/table.ts")

/** Values after a name. */
export const assignments = (): typeof import("./assignment.ts") => require("./assignment.ts")

/** Values after commands, headers and statements, and in sentences. */
export const options = (): typeof import("./introduced-values.ts") => require("./introduced-values.ts")

/** Values in manifests of secrets. */
export const manifests = (): typeof import("./manifest.ts") => require("./manifest.ts")

/** Secrets in addresses. */
export const urls = (): typeof import("./urls.ts") => require("./urls.ts")

/** What people hide themselves. */
export const privateTags = (): typeof import("./private.ts") => require("./private.ts")

/** Private keys. */
export const privateKeys = (): typeof import("./keys.ts") => require("./keys.ts")

/** The search for all sequences at once, for those that nobody waits for. */
export const sweeping = (): typeof import("./sweep.ts") => require("./sweep.ts")
