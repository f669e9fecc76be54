/** The line in which the query is typed: its text, and the cursor in it. Pure. */

export interface QueryLine {
  readonly text: string
  /** In UTF-16 units, always between two characters. */
  readonly cursor: number
}

/** UTF-16 units of a query; the search reads no more. */
const LONGEST = 4000

const segmenter = new Intl.Segmenter()

export const lineWith = (text: string): QueryLine => {
  const kept = text.toWellFormed().slice(0, LONGEST)
  return { text: kept, cursor: kept.length }
}

export function withTyped({ text, cursor }: QueryLine, added: string): QueryLine {
  const fits = added
    .toWellFormed()
    .slice(0, Math.max(0, LONGEST - text.length))
    .toWellFormed()
  return { text: text.slice(0, cursor) + fits + text.slice(cursor), cursor: cursor + fits.length }
}

/** @returns undefined if the action is none of this line's */
export function edited(line: QueryLine, action: PickerAction): QueryLine | undefined {
  const { text, cursor } = line
  const without = (from: number, to: number): QueryLine => ({
    text: text.slice(0, from) + text.slice(to),
    cursor: from,
  })
  switch (action) {
    case "left":
      return { text, cursor: before(line) }
    case "right":
      return { text, cursor: after(line) }
    case "word-left":
      return { text, cursor: wordBefore(line) }
    case "word-right":
      return { text, cursor: cursor + /^\s*\S*/.exec(text.slice(cursor))![0].length }
    case "start":
      return { text, cursor: 0 }
    case "end":
      return { text, cursor: text.length }
    case "delete-back":
      return without(before(line), cursor)
    case "delete-forward":
      return { text: text.slice(0, cursor) + text.slice(after(line)), cursor }
    case "delete-word":
      return without(wordBefore(line), cursor)
    case "delete-all":
      return { text: "", cursor: 0 }
    default:
      return undefined
  }
}

const before = ({ text, cursor }: QueryLine): number => {
  if (cursor === 0) return 0
  return segmenter.segment(text).containing(cursor - 1)!.index
}

const after = ({ text, cursor }: QueryLine): number => {
  const next = segmenter.segment(text).containing(cursor)
  return next === undefined ? cursor : next.index + next.segment.length
}

const wordBefore = ({ text, cursor }: QueryLine): number =>
  cursor - /\S*\s*$/.exec(text.slice(0, cursor))![0].length

/** The picker's keys, for the picker itself, its help, and docs/picker.md. Pure. */

export type PickerAction =
  | "open"
  | "resume"
  | "export"
  | "mark"
  | "mark-up"
  | "pin"
  | "take-handle"
  | "take-command"
  | "take-path"
  | "next-project"
  | "next-role"
  | "next-tool"
  | "next-since"
  | "toggle-errors"
  | "down"
  | "up"
  | "preview-down"
  | "preview-up"
  | "preview-page-down"
  | "preview-page-up"
  | "left"
  | "right"
  | "start"
  | "end"
  | "word-left"
  | "word-right"
  | "delete-back"
  | "delete-forward"
  | "delete-word"
  | "delete-all"
  | "help"
  | "redraw"
  | "suspend"
  | "quit"

interface PickerKey {
  readonly action: PickerAction
  /** As key-decoder.ts names them, the one that is shown first. */
  readonly keys: readonly string[]
  readonly about: string
  /** With `--print`, where it means something else. */
  readonly printing?: string
}

/** Those that do something with the turn come first, then the filters; keys for the query that every shell has, last. */
export const PICKER_KEYS: readonly PickerKey[] = [
  {
    action: "open",
    keys: ["enter"],
    about: "Open the turn in the pager, or all marked ones",
    printing: "Print its handle, or theirs",
  },
  { action: "mark", keys: ["tab"], about: "Mark the turn, or take its mark off; next" },
  { action: "mark-up", keys: ["shift-tab"], about: "The same, and to the previous" },
  {
    action: "export",
    keys: ["f2", "alt-w"],
    about: "Export it, or all marked ones, as Markdown",
    printing: "Print the command that exports",
  },
  { action: "pin", keys: ["f3", "alt-p"], about: "Pin its session on top, or take the pin off" },
  {
    action: "resume",
    keys: ["ctrl-o"],
    about: "Resume the session in its agent",
    printing: "Print the command that resumes it",
  },
  {
    action: "take-handle",
    keys: ["ctrl-y"],
    about: "Copy the turn's handle, or the marked ones'",
    printing: "Print them",
  },
  { action: "take-command", keys: ["ctrl-x"], about: "Copy the turn's last command", printing: "Print it" },
  { action: "take-path", keys: ["ctrl-f"], about: "Copy the path of its last file", printing: "Print it" },
  { action: "next-project", keys: ["ctrl-p"], about: "All projects, or this folder's" },
  { action: "next-role", keys: ["ctrl-r"], about: "Who: human, assistant, tool, Claude Code" },
  { action: "next-tool", keys: ["ctrl-t"], about: "Which tool: those used most, or any" },
  { action: "next-since", keys: ["ctrl-s"], about: "Since when: 1, 7, 30 days, or ever" },
  { action: "toggle-errors", keys: ["ctrl-e"], about: "Only what failed, or everything" },
  { action: "down", keys: ["down", "ctrl-n", "ctrl-j"], about: "Next turn" },
  { action: "up", keys: ["up", "ctrl-k"], about: "Previous turn" },
  { action: "preview-page-down", keys: ["page-down"], about: "Preview: a page down" },
  { action: "preview-page-up", keys: ["page-up"], about: "Preview: a page up" },
  { action: "preview-down", keys: ["shift-down", "alt-down", "alt-j"], about: "Preview: a line down" },
  { action: "preview-up", keys: ["shift-up", "alt-up", "alt-k"], about: "Preview: a line up" },
  { action: "help", keys: ["f1", "?"], about: "These keys (? if nothing is typed)" },
  { action: "suspend", keys: ["ctrl-z"], about: "Back to the shell; fg returns" },
  { action: "quit", keys: ["esc", "ctrl-c"], about: "Quit" },
  { action: "redraw", keys: ["ctrl-l"], about: "Draw the screen anew" },
  { action: "left", keys: ["left", "ctrl-b"], about: "Query: a character to the left" },
  { action: "right", keys: ["right"], about: "Query: a character to the right" },
  { action: "word-left", keys: ["ctrl-left", "alt-left", "alt-b"], about: "Query: a word to the left" },
  { action: "word-right", keys: ["ctrl-right", "alt-right", "alt-f"], about: "Query: a word to the right" },
  { action: "start", keys: ["home", "ctrl-a"], about: "Query: to its start" },
  { action: "end", keys: ["end"], about: "Query: to its end" },
  { action: "delete-back", keys: ["backspace"], about: "Query: delete the character before" },
  { action: "delete-forward", keys: ["delete", "ctrl-d"], about: "Query: delete the character behind" },
  { action: "delete-word", keys: ["ctrl-w", "alt-backspace"], about: "Query: delete the word before" },
  { action: "delete-all", keys: ["ctrl-u"], about: "Query: delete all of it" },
]

const BY_KEY = new Map(PICKER_KEYS.flatMap(({ action, keys }) => keys.map((key) => [key, action] as const)))

export const actionOf = (key: string): PickerAction | undefined => BY_KEY.get(key)

/** `ctrl-o` → `Ctrl-O`, `page-down` → `PageDown`. */
export const keyLabel = (key: string): string =>
  key
    .split("-")
    .map((part) => part.slice(0, 1).toUpperCase() + part.slice(1))
    .join("-")
    .replace("Page-", "Page")
