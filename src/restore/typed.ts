/** What of a command says what is run, and what says where and into which file. Pure. */

/** `cd folder && …`: behind the folder a new line of the script stands as a blank. */
const INTO_FOLDER = /^cd ("[^"]*"|'[^']*'|[^\s;&|<>"']+)\s*(?:&&|;)?\s+(?=[^\s;&|<>])/
/** `2>&1`, `> file`, at the end. */
const REDIRECTIONS = /(?:\s+(?:\d|&)?>{1,2}\s*(?:&\d|[^\s;&|<>()]+))+$/

export interface Typed {
  readonly folder: string | undefined
  /** Without redirections. */
  readonly command: string
}

export function typed(script: string): Typed {
  const folder = INTO_FOLDER.exec(script)?.[1]
  return { folder, command: script.replace(INTO_FOLDER, "").replace(REDIRECTIONS, "").trim() }
}

/** Of a long command what was run goes before where. */
export const withoutFolder = (script: string): string => script.replace(INTO_FOLDER, "… ")

/** Whether the later script runs the same again; a shell stays in the folder that it was sent to. */
export const runsAgain = (earlier: Typed, later: Typed): boolean =>
  earlier.command === later.command && (later.folder === undefined || later.folder === earlier.folder)
