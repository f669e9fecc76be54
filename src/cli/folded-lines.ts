/** Text broken into lines between words. Pure. */

/** Splits a text into lines of at most `width` columns; a longer word stays whole. */
export function foldedLines(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ""
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`
    if (line !== "" && Bun.stringWidth(longer) > width) {
      lines.push(line)
      line = word
    } else line = longer
  }
  return [...lines, line]
}
