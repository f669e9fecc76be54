/** The rules that most texts have no need of, which are loaded when something calls for them. Pure. */

/** Raised whenever the filter finds something new: the vault's notes record which rules filtered a frame. */
export const RULES_NUMBER = 3

/**
 * The formats of tokens. Loading them and making their rules takes a program 1 ms, so it is done only when something may
 * be a token. The filter cannot wait for an import().
 */
export const formats = (): typeof import("./formats/table.ts") => require("./formats/table.ts")

/** The same for private keys that are not in PEM. */
export const otherKeys = (): typeof import("./keys.ts") => require("./keys.ts")
