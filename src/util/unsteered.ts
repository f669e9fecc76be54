/** Takes out of text what would steer whatever shows it. Pure. */

/** C0 except tab and newline, DEL, C1, and the marks that reorder a line. */
const STEERING = /(?![\t\n])[\p{Cc}\p{Bidi_C}]/gu

/** Without a terminal's sequences; other characters that steer become U+FFFD. */
export const unsteered = (text: string): string =>
  Bun.stripANSI(text.replace(/\r\n/g, "\n")).replace(STEERING, "\ufffd")
