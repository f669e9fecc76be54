/** What a terminal's locale says of it. Pure. */

/**
 * Whether the terminal shows more than ASCII, by the first of its variables that is set (locale(7)). Where none is,
 * POSIX says no; macOS and Windows do not set them.
 *
 * @param locale the value of LC_ALL, else LC_CTYPE, else LANG
 */
export const speaksUtf8 = (locale: string | undefined, platform: string): boolean =>
  locale === undefined ? platform !== "linux" : /utf-?8/i.test(locale)
