/** Separates what a command runs from where it runs and which file it writes to. Pure. */

/** `cd folder && …`. After the folder there may be just a space, which stands for a line break in the script. */
const INTO_FOLDER = /^cd ("[^"]*"|'[^']*'|[^\s;&|<>"']+)\s*(?:&&|;)?\s+(?=[^\s;&|<>])/
/** `2>&1` or `> file` at the end. */
const REDIRECTIONS = /(?:\s+(?:\d|&)?>{1,2}\s*(?:&\d|[^\s;&|<>()]+))+$/

interface Typed {
  readonly folder: string | undefined
  readonly command: string
}

export function typed(script: string): Typed {
  const folder = INTO_FOLDER.exec(script)?.[1]
  return { folder, command: script.replace(INTO_FOLDER, "").replace(REDIRECTIONS, "").trim() }
}

/** Shortens a long command: what was run matters more than where. */
export const withoutFolder = (script: string): string => script.replace(INTO_FOLDER, "… ")

/** Whether the later script runs the same command again. It need not repeat `cd`, since a shell stays in its folder. */
export const runsAgain = (earlier: Typed, later: Typed): boolean =>
  earlier.command === later.command && (later.folder === undefined || later.folder === earlier.folder)
