/** Quotes for a POSIX shell, for commands that we write. Reading them is `transcript/shell-script.ts`. Pure. */

/** A text as one word, so that a printed command line can be pasted. */
export const shellWord = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : singleQuoted(text))

export const singleQuoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`
