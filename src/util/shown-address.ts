/** Addresses as people are shown them. Hooks load this only when something went wrong: see errors.ts. Pure. */

/**
 * The text without the passwords and tokens of the addresses in it: `https://bob:***@example.com`. An address may be
 * written wrongly, with `/`, `?` or `@` in its password; a port is none.
 */
export function withoutPasswords(text: string): string {
  return text
    .replace(
      /((?:\b[a-z][a-z0-9+.-]{0,24}:\/\/|\bpostgres(?:ql)?:)[^\s/?#"'@:]{0,256}):(?!\d{1,5}(?:[/?#\s]|$))[^\s"'<>]{0,2048}@/gi,
      "$1:***@",
    )
    .replace(/(\bhttps?:\/\/)[^\s/?#"'@:]{16,512}@/gi, "$1***@")
    .replace(
      /([?&][\w-]{0,32}(?:token|key|secret|passw(?:or)?d|pwd|sig|signature|credential|auth)=)[^&\s#"'<>]{1,2048}/gi,
      "$1***",
    )
}

/** What somebody typed as an address, for people: nothing ends its password but the last `@`. */
export const addressShown = (address: string): string =>
  withoutPasswords(
    address.replace(
      /^(\s*(?:[a-z][a-z0-9+.-]*:\/\/|postgres(?:ql)?:)[^/?#@:]*):(?!\d{1,5}(?:[/?#]|$)).*@/is,
      "$1:***@",
    ),
  )
